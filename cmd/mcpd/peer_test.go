package main

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestArgumentsFitTheirType(t *testing.T) {
	for kind, texts := range map[string][2][]string{
		"integer": {{"1", "-12", "12345678901234567890"}, {"1.5", "1e3", `"1"`, "true", "x", ""}},
		"number":  {{"1", "1.5", "-1e3"}, {`"1"`, "null", "[1]"}},
		"boolean": {{"true", "false"}, {"1", "yes", `"true"`}},
		"object":  {{"{}", ` {"a":1}`}, {"[]", "{", "null"}},
		"array":   {{"[]", "[1,2]"}, {"{}", "1"}},
		"unheard": {{"1", "null", "{}"}, {"x"}},
	} {
		for i, list := range texts {
			for _, text := range list {
				if got := fits(jsontext.Value(text), kind); got != (i == 0) {
					t.Errorf("%q for %s: got %v, want %v", text, kind, got, i == 0)
				}
			}
		}
	}
}
