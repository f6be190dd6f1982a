package jsonedit_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol/jsonedit"
)

func TestEditChangesMembersInOnePass(t *testing.T) {
	tests := []struct {
		name, in, want string
		do             func(e *jsonedit.Edit)
	}{
		{"nothing", `{ "a" : 1 }`, `{ "a" : 1 }`, func(e *jsonedit.Edit) {
			each(e, 0, func(e *jsonedit.Edit, w *jsonedit.Walk) {})
		}},
		{"set", `{"a": 1,"b":2}`, `{"a": 7,"b":2}`, func(e *jsonedit.Edit) {
			each(e, 0, on("a", set("7")))
		}},
		{"drop first", `{"a":1, "b":2}`, `{ "b":2}`, func(e *jsonedit.Edit) {
			each(e, 0, on("a", (*jsonedit.Edit).Drop))
		}},
		{"drop last", `{"a":1 , "b":2 }`, `{"a":1 }`, func(e *jsonedit.Edit) {
			each(e, 0, on("b", (*jsonedit.Edit).Drop))
		}},
		{"drop all", `{"a":1,"b":2}`, `{}`, func(e *jsonedit.Edit) { each(e, 0, (*jsonedit.Edit).Drop) }},
		{"turn", `{"a":1,"b":2}`, `{"x":[],"y":0,"b":2}`, func(e *jsonedit.Edit) {
			each(e, 0, on("a", func(e *jsonedit.Edit, w *jsonedit.Walk) {
				e.CutItem(w)
				e.Put(`"x":[],`, `"y":0`)
			}))
		}},
		{"add to empty", `{ }`, `{ "a\"":1,"b":2}`, func(e *jsonedit.Edit) {
			w := end(e, 0)
			e.Add(&w, `a"`, jsontext.Value("1"))
			e.Add(&w, "b", jsontext.Value("2"))
		}},
		{"add", `{"a":1 }`, `{"a":1,"b":2 }`, func(e *jsonedit.Edit) {
			w := end(e, 0)
			e.Add(&w, "b", jsontext.Value("2"))
		}},
		{"add after dropped", `{"a":1,"b":2 }`, `{"a":1,"c":3}`, func(e *jsonedit.Edit) {
			w := each(e, 0, on("b", (*jsonedit.Edit).Drop))
			e.Add(&w, "c", jsontext.Value("3"))
		}},
		{"append", ` [1]`, ` [1,2]`, func(e *jsonedit.Edit) {
			w := end(e, e.Start())
			if e.Append(&w) {
				e.Put("2")
			}
		}},
		{"add to a number", `1`, `1`, func(e *jsonedit.Edit) {
			w := end(e, 0)
			e.Add(&w, "b", jsontext.Value("2"))
			e.Put("x")
		}},
		{"add to a broken object", `{"a":1`, `{"a":1`, func(e *jsonedit.Edit) {
			w := end(e, 0)
			e.Add(&w, "b", jsontext.Value("2"))
			e.Put("x")
		}},
		{"escaped name", `{"\u0061":1}`, `{"\u0061":2}`, func(e *jsonedit.Edit) {
			each(e, 0, on("a", set("2")))
		}},
	}
	for _, test := range tests {
		e := jsonedit.NewEdit(jsontext.Value(test.in))
		test.do(&e)
		if got := e.Result(); string(got) != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if string(e.Raw()) != test.in {
			t.Errorf("%s: the input changed to %s", test.name, e.Raw())
		}
	}
}

func TestElementsHaveNoName(t *testing.T) {
	e := jsonedit.NewEdit(jsontext.Value(`[1]`))
	w := e.Walk(0)
	if !e.Next(&w) || w.Name() != nil || w.Is("") || string(w.Value()) != "1" {
		t.Errorf("got name %q of %s", w.Name(), w.Value())
	}
}

func TestEqualReadsEscapes(t *testing.T) {
	for v, want := range map[string]bool{`"a"`: true, `"\u0061"`: true, `"b"`: false, `a`: false,
		``: false, `{}`: false} {
		if got := jsonedit.Equal(jsontext.Value(v), "a"); got != want {
			t.Errorf("%s: got %v, want %v", v, got, want)
		}
	}
	if got := jsonedit.Len(jsontext.Value(`[1,[2]]`)) +
		jsonedit.Len(jsontext.Value(`{"a":1}`)); got != 2 {
		t.Errorf("got %d elements, want 2", got)
	}
}

func each(e *jsonedit.Edit, at int, do func(e *jsonedit.Edit, w *jsonedit.Walk)) jsonedit.Walk {
	w := e.Walk(at)
	for e.Next(&w) {
		do(e, &w)
	}
	return w
}

func end(e *jsonedit.Edit, at int) jsonedit.Walk {
	return each(e, at, func(*jsonedit.Edit, *jsonedit.Walk) {})
}

func on(name string, do func(e *jsonedit.Edit, w *jsonedit.Walk)) func(e *jsonedit.Edit,
	w *jsonedit.Walk) {
	return func(e *jsonedit.Edit, w *jsonedit.Walk) {
		if w.Is(name) {
			do(e, w)
		}
	}
}

func set(value string) func(e *jsonedit.Edit, w *jsonedit.Walk) {
	return func(e *jsonedit.Edit, w *jsonedit.Walk) { e.Set(w, jsontext.Value(value)) }
}

// Any mixture of changes has the same result as the same changes on a list of members.
func TestEditIsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5).Draw(t, "members")
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		in, want := "{", "{"
		comma := func(s *string, from string) {
			if *s != from {
				*s += ","
			}
		}
		var acts []int
		for i := range n {
			act := rapid.IntRange(0, 2).Draw(t, "act")
			acts = append(acts, act)
			comma(&in, "{")
			in += fmt.Sprintf(`%s"m%d"%s:%s%d%s`, space, i, space, space, i, space)
			if act != 1 {
				comma(&want, "{")
				want += fmt.Sprintf(`"m%d":%d`, i, i+100*(act/2))
			}
		}
		in += space + "}"
		added := rapid.IntRange(0, 2).Draw(t, "added")
		e := jsonedit.NewEdit(jsontext.Value(in))
		w := e.Walk(0)
		for i := 0; e.Next(&w); i++ {
			switch acts[i] {
			case 1:
				e.Drop(&w)
			case 2:
				e.Set(&w, jsontext.Value(fmt.Sprint(i+100)))
			}
		}
		for i := range added {
			e.Add(&w, fmt.Sprintf("a%d", i), jsontext.Value("true"))
			comma(&want, "{")
			want += fmt.Sprintf(`"a%d":true`, i)
		}
		got := bytes.Clone(e.Result())
		if err := (*jsontext.Value)(&got).Compact(); err != nil || string(got) != want+"}" {
			t.Fatalf("%q: got %s (%v), want %s}", in, e.Result(), err, want)
		}
	})
}
