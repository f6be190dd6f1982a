package jsonedit_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// FuzzEdit edits arbitrary JSON and checks the result against the definition. A set value is found
// again. A deleted value is not. The rest keeps its bytes, and JSON remains JSON.
func FuzzEdit(f *testing.F) {
	for _, in := range []string{tool, `{}`, `[1,2,{"a":[]}]`, `{"a":{"b":1e400}}`,
		`{"a" :1 , "b" : "\ud83d\ude00\\"}`, `"x"`, `{"a":"\\\""}`, `[`} {
		f.Add([]byte(in), "a", "b", `{"new":0.10}`)
	}
	f.Add([]byte(`[ 1 , 2 ]`), "1", "", `null`)
	f.Fuzz(func(t *testing.T, in []byte, first, second, value string) {
		path := []string{first}
		if second != "" {
			path = append(path, second)
		}
		original := bytes.Clone(in)
		before, found := jsonedit.Get(in, path...)
		kind := jsonedit.Kind(in, path...)
		jsonedit.Set(in, jsontext.Value(value), path...)
		deleted, was := jsonedit.Delete(in, path...)
		for m := range jsonedit.Members(in) {
			m.Key()
		}
		if !bytes.Equal(in, original) {
			t.Fatalf("the input changed from %q to %q", original, in)
		}
		valid := func(v []byte) bool { return jsontext.Value(v).IsValid() }
		if !valid(in) || !valid([]byte(value)) || !utf8.ValidString(first+second) {
			return
		}
		value = string(bytes.TrimSpace([]byte(value)))
		set, err := jsonedit.Set(in, jsontext.Value(value), path...)
		if found != (kind != 0) || found && before.Kind() != kind {
			t.Fatalf("%q at %q: found %q, of kind %q", in, path, before, kind)
		}
		if was != found {
			t.Fatalf("%q at %q: found %v, but deleted %v", in, path, found, was)
		}
		if was && !valid(deleted) {
			t.Fatalf("%q without %q is not JSON: %q", in, path, deleted)
		}
		if found && err != nil {
			t.Fatalf("%q at %q: found, but %v", in, path, err)
		}
		if err != nil {
			return
		}
		if !valid(set) {
			t.Fatalf("%q with %q at %q is not JSON: %q", in, value, path, set)
		}
		if got, ok := jsonedit.Get(set, path...); !ok || string(got) != value {
			t.Fatalf("%q with %q at %q: got %q from %q", in, value, path, got, set)
		}
		if found { // all the rest is unchanged
			at := bytes.Index(in, before)
			for ; at >= 0; at = next(in, before, at) {
				if bytes.Equal(set, append(append(bytes.Clone(in[:at]), value...), in[at+len(before):]...)) {
					return
				}
			}
			t.Fatalf("%q with %q at %q changed more than that: %q", in, value, path, set)
		}
		// Bytes were inserted in one place.
		n := len(set) - len(in)
		for i := range len(in) + 1 {
			if bytes.Equal(set[:i], in[:i]) && bytes.Equal(set[i+n:], in[i:]) {
				return
			}
		}
		t.Fatalf("%q with %q at %q changed more than that: %q", in, value, path, set)
	})
}

func next(in, part []byte, at int) int {
	if i := bytes.Index(in[at+1:], part); i >= 0 {
		return at + 1 + i
	}
	return -1
}
