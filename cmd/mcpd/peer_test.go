package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// The search for a tool stops at the end of the list. An empty cursor and a page that repeats
// with the same cursor both count as the end.
func TestToolIsLookedForUpToTheEnd(t *testing.T) {
	for page, pages := range map[string]int{
		`{"tools":[{"name":"a"}],"nextCursor":""}`:      1,
		`{"tools":[{"name":"a"}],"nextCursor":"again"}`: 2,
	} {
		e := &fakeHost{answer: func(*http.Request, jsonrpc.Message) (int, string) {
			return 200, `"result":` + page
		}}
		host := httptest.NewServer(e)
		defer host.Close()
		up, err := streamable.NewClient(streamable.ClientOptions{URL: host.URL})
		if err != nil {
			t.Fatal(err)
		}
		p := &callClient{up: up, endpoint: host.URL}
		defer p.close()
		_, err = p.properties(t.Context(), "b")
		if err == nil || !strings.Contains(err.Error(), `there is no tool "b"`) || len(e.got) != pages {
			t.Errorf("%s: %v after %d pages", page, err, len(e.got))
		}
	}
}

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
