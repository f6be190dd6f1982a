package mrtr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/mrtr"
)

const (
	form   = `{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`
	sample = `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Capital?"}}],"maxTokens":100}}`
	roots  = `{"method":"roots/list"}`
)

func TestTypeOf(t *testing.T) {
	for result, want := range map[string]mrtr.ResultType{
		`{"content":[]}`:                  mrtr.Complete,
		`{"resultType":"complete"}`:       mrtr.Complete,
		`{"resultType":"input_required"}`: mrtr.InputRequired,
		`{"resultType":"task"}`:           mrtr.Task,
		`{"resultType":"else"}`:           mrtr.Unknown,
		`{"resultType":null}`:             mrtr.Unknown,
		`[]`:                              mrtr.Unknown,
		``:                                mrtr.Unknown,
	} {
		if got := mrtr.TypeOf(jsontext.Value(result)); got != want {
			t.Errorf("%s: got %d, want %d", result, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	many := strings.Repeat(`"k%d":{"method":"roots/list"},`, mrtr.MaxInputs+1)
	for i := range mrtr.MaxInputs + 1 {
		many = strings.Replace(many, "%d", fmt.Sprint(i), 1)
	}
	for _, tc := range []struct{ result, want string }{
		{`{"resultType":"input_required","inputRequests":{"b":` + form + `,"a":` + roots +
			`},"requestState":"x\u0041"}`, `b elicitation/create, a roots/list, "x\u0041"`},
		{`{"requestState":""}`, `""`},
		{`{"inputRequests":{"":` + sample + `}}`, ` sampling/createMessage, `},
		{`{"inputRequests":{},"requestState":"s"}`, `"s"`},
		{`{"inputRequests":{}}`, ""},
		{`{"resultType":"input_required"}`, "has neither inputRequests nor requestState"},
		{`{"inputRequests":null}`, "is not an object"},
		{`{"inputRequests":[]}`, "is not an object"},
		{`{"inputRequests":{},"requestState":null}`, "is not a string"},
		{`{"inputRequests":{"a":7}}`, "has method"},
		{`{"inputRequests":{"a":{"method":"ping"}}}`, `has method "ping"`},
		{`{"inputRequests":{"a":{"method":"elicitation/create"}}}`, "has no params"},
		{`{"inputRequests":{"a":{"method":"roots/list","params":[]}}}`, "params is not an object"},
		{`{"inputRequests":{"` + strings.Repeat("a", mrtr.MaxKey) + `":` + roots + `}}`,
			"longer than 256"},
		{`{"inputRequests":{` + strings.TrimSuffix(many, ",") + `}}`, "more than 32"},
		{`{"requestState":"` + strings.Repeat("a", mrtr.MaxState) + `"}`, "larger than"},
	} {
		r, err := mrtr.Parse(jsontext.Value(tc.result))
		got := ""
		for _, in := range r.Inputs {
			got += in.Key + " " + in.Method + ", "
		}
		got += string(r.State)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%.100s: got %s, want %s", tc.result, got, tc.want)
		}
	}
}

// A result is checked against the declarations of the request. A result that the server may not
// send reaches no client.
func TestCheck(t *testing.T) {
	url := `{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/","message":"m"}}`
	asks := func(input string) string {
		return `{"resultType":"input_required","inputRequests":{"k":` + input + `}}`
	}
	for _, tc := range []struct{ method, client, result, want string }{
		{"tools/call", `{}`, `{"resultType":"complete","content":[]}`, ""},
		{"tools/call", `{}`, `{"content":[]}`, ""},
		{"tools/list", `{}`, `{"resultType":"complete","tools":[]}`, ""},
		{"tools/call", `{}`, `5`, "is not an object"},
		{"tools/call", `{}`, `null`, "is not an object"},
		{"tools/call", `{}`, `[]`, "is not an object"},
		{"tools/call", `{}`, `{"resultType":"later"}`, `resultType is "later"`},
		{"tools/call", `{}`, `{"resultType":7}`, "resultType is 7"},
		{"tools/call", `{}`, `{"resultType":"input_required"}`,
			"has neither inputRequests nor requestState"},
		{"tools/call", `{}`, `{"resultType":"input_required","requestState":"s"}`, ""},
		{"tools/list", `{}`, `{"resultType":"input_required","requestState":"s"}`, "must not ask"},
		{"tools/call", `{"elicitation":{}}`, asks(form), ""},
		{"tools/call", `{}`, asks(form), "elicitation"},
		{"tools/call", `{"elicitation":{}}`, asks(url), "elicitation mode"},
		{"tools/call", `{"elicitation":{"url":{}}}`, asks(url), ""},
		{"tools/call", `{"elicitation":{"url":{}}}`, asks(form), "elicitation mode"},
		{"tools/call", `{"elicitation":{}}`, asks(sample), "sampling"},
		{"tools/call", `{"elicitation":{}}`, asks(roots), "roots"},
		{"tools/call", `{"elicitation":{}}`, asks(`{"method":"foo/bar","params":{}}`),
			`has method "foo/bar"`},
		{"tools/call", `{}`, `{"resultType":"task","taskId":"t"}`, "is a task"},
		{"tools/call", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
			`{"resultType":"task","taskId":"t"}`, ""},
		{"prompts/get", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
			`{"resultType":"task","taskId":"t"}`, "is a task"},
	} {
		client, err := protocol.ParseClientCapabilities(jsontext.Value(tc.client))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := mrtr.Check(tc.method, jsontext.Value(tc.result),
			protocol.Gate{Version: protocol.V20260728, Client: client}); err != nil {
			got = err.Error()
		}
		if got != tc.want && (tc.want == "" || !strings.Contains(got, tc.want)) {
			t.Errorf("%s %s: %s: got %q, want %q", tc.client, tc.method, tc.result, got, tc.want)
		}
	}
}

// A result without a type comes from an older server, and is complete.
func TestTyped(t *testing.T) {
	for result, want := range map[string]string{
		`{}`:                              `{"resultType":"complete"}`,
		`{"content":[]}`:                  `{"content":[],"resultType":"complete"}`,
		`{"resultType":"task","a":1}`:     `{"resultType":"task","a":1}`,
		`{"resultType":"input_required"}`: `{"resultType":"input_required"}`,
	} {
		if got := mrtr.WithResultType(jsontext.Value(result)); string(got) != want {
			t.Errorf("%s: got %s, want %s", result, got, want)
		}
	}
}

// A call that ended because of a page to visit is attempted again, unless the user refused a page.
func TestConsents(t *testing.T) {
	for answers, want := range map[string]string{
		`{}`:                              "yes",
		`{"0":{"action":"accept"}}`:       "yes",
		`{"0":{"action":"accept"},"k":7}`: "yes",
		`{"0":{"action":"decline"}}`:      "no",
		`{"0":{"action":"cancel"}}`:       "no",
		`{"0":{"action":"accept"},"1":{"action":"decline"}}`: "no",
		`{"0":{"action":"later"}}`: "inputResponses.0 is not an answer to " +
			"elicitation/create",
		`{"1":7}`: "inputResponses.1 is not an answer to elicitation/create",
	} {
		r, err := mrtr.ParseRetry(jsontext.Value(`{"inputResponses":` + answers + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got := "no"
		if yes, err := r.AcceptsPages(); err != nil {
			got = err.Error()
		} else if yes {
			got = "yes"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", answers, got, want)
		}
	}
}

// The results that the package writes are valid under the published schema, and read back
// unchanged.
func TestResult(t *testing.T) {
	schemas := mcptest.LoadSchemas(t, "2026-07-28")
	for _, want := range []string{
		`{"resultType":"input_required","inputRequests":{"a \"b\"":` + form + `,"b":` + sample + `,"c":` +
			roots + `},"requestState":"x\u0041"}`,
		`{"resultType":"input_required","inputRequests":{"c":` + roots + `}}`,
		`{"resultType":"input_required","requestState":""}`,
	} {
		r, err := mrtr.Parse(jsontext.Value(want))
		if err != nil {
			t.Fatal(err)
		}
		got := r.Result()
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if err := schemas.Check(t, "InputRequiredResult", got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		wrapped := mrtr.SetState(got, jsontext.Value(`"ours"`))
		if again, err := mrtr.Parse(wrapped); err != nil || string(again.State) != `"ours"` ||
			len(again.Inputs) != len(r.Inputs) {
			t.Errorf("got %s, %v", wrapped, err)
		}
	}
}

func TestEmbed(t *testing.T) {
	schemas := mcptest.LoadSchemas(t, "2026-07-28")
	for _, tc := range []struct{ method, params, want string }{
		{
			"elicitation/create",
			`{"message":"m","requestedSchema":{"type":"object","properties":{}},"task":{"ttl":1},"_meta":{"progressToken":1}}`, `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`,
		},
		{
			"elicitation/create",
			`{"mode":"url","url":"https://a.example/","message":"m","elicitationId":"e"}`,
			`{"mode":"url","url":"https://a.example/","message":"m"}`,
		},
		{"sampling/createMessage", `{"_meta":{},"messages":[],"maxTokens":12345678901234567890}`,
			`{"messages":[],"maxTokens":12345678901234567890}`},
		{"roots/list", `{"_meta":{"progressToken":1}}`, `{}`},
		{"roots/list", ``, `{}`},
	} {
		in := mrtr.Embed("k", tc.method, jsontext.Value(tc.params))
		if string(in.Params) != tc.want {
			t.Errorf("%s %s: got %s", tc.method, tc.params, in.Params)
		}
		if err := schemas.Check(t, "InputRequiredResult",
			mrtr.Required{Inputs: []mrtr.Input{in}}.Result()); err != nil {
			t.Error(err)
		}
	}
}

func TestParseRetry(t *testing.T) {
	many := strings.Repeat(`"k%d":{},`, mrtr.MaxResponses+1)
	for i := range mrtr.MaxResponses + 1 {
		many = strings.Replace(many, "%d", fmt.Sprint(i), 1)
	}
	for _, tc := range []struct {
		params string
		is     bool
		want   string
	}{
		{`{"name":"t"}`, false, ``},
		{``, false, ``},
		{`{"inputResponses":{}}`, true, ``},
		{`{"inputResponses":{"a":{"action":"accept"},"b":7},"requestState":"s\u0041"}`, true,
			`a={"action":"accept"} b=7 "s\u0041"`},
		{`{"requestState":""}`, true, `""`},
		{`{"inputResponses":null}`, true, "inputResponses is not an object"},
		{`{"inputResponses":[]}`, true, "inputResponses is not an object"},
		{`{"requestState":7}`, true, "requestState is not a string"},
		{`{"requestState":null}`, true, "requestState is not a string"},
		{`{"inputResponses":{` + strings.TrimSuffix(many, ",") + `}}`, true, "more than 64"},
	} {
		r, err := mrtr.ParseRetry(jsontext.Value(tc.params))
		got := ""
		for _, response := range r.Responses {
			got += fmt.Sprintf("%s=%s ", response.Key, response.Value)
		}
		got += string(r.State)
		if err != nil {
			got = err.Error()
		}
		if is := mrtr.IsRetry(jsontext.Value(tc.params)); is != tc.is || err == nil && got != tc.want ||
			!strings.Contains(got, tc.want) {
			t.Errorf("%.60s: got %v, %s; want %v, %s", tc.params, is, got, tc.is, tc.want)
		}
		if err != nil && !errors.Is(err, protocol.ConditionInvalidParams) {
			t.Errorf("%v: is not -32602", err)
		}
	}
}

func TestSetMakesARetry(t *testing.T) {
	const params = `{"name":"t","inputResponses":{"old":{}},"arguments":{"n":12345678901234567890},"requestState":"old"}`
	r := mrtr.Retry{
		Responses: []mrtr.Response{{"a", jsontext.Value(`{"action":"decline"}`)},
			{`"`, jsontext.Value(`{"roots":[]}`)}}, State: jsontext.Value(`"s\u0041"`),
	}
	want := `{"name":"t","arguments":{"n":12345678901234567890},"inputResponses":{"a":{"action":"decline"},"\"":{"roots":[]}},"requestState":"s\u0041"}`
	got := r.Set(jsontext.Value(params))
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	again, err := mrtr.ParseRetry(got)
	if v, ok := again.Get(`"`); err != nil || !ok || string(v) != `{"roots":[]}` {
		t.Errorf("got %s, %v", v, err)
	}
	if _, ok := again.Get("old"); ok {
		t.Error("an answer of an earlier round is there")
	}
	if got := (mrtr.Retry{}).Set(jsontext.Value(params)); string(got) !=
		`{"name":"t","arguments":{"n":12345678901234567890}}` {
		t.Errorf("got %s", got)
	}
}

func TestKinds(t *testing.T) {
	for _, tc := range []struct {
		kind  mrtr.Kind
		value string
		fits  bool
	}{
		{mrtr.Elicitation, `{"action":"accept","content":{"a":"x","b":1,"c":true,"d":["x"]}}`, true},
		{mrtr.Elicitation, `{"action":"decline"}`, true},
		{mrtr.Elicitation, `{"action":"cancel","content":null}`, true},
		{mrtr.Elicitation, `{"action":"maybe"}`, false},
		{mrtr.Elicitation, `{"content":{}}`, false},
		{mrtr.Elicitation, `{"action":"accept","content":[]}`, false},
		{mrtr.Elicitation, `{"action":"accept","content":{"a":{}}}`, false},
		{mrtr.Elicitation, `{"action":"accept","content":{"a":[1]}}`, false},
		{mrtr.Elicitation, `12345`, false},
		{mrtr.Elicitation, `null`, false},
		{mrtr.Sampling, `{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`, true},
		{mrtr.Sampling, `{"role":"user","model":"","content":[{"type":"text","text":"x"}]}`, true},
		{mrtr.Sampling, `{"role":"system","model":"m","content":{}}`, false},
		{mrtr.Sampling, `{"role":"user","content":{}}`, false},
		{mrtr.Sampling, `{"role":"user","model":"m","content":"x"}`, false},
		{mrtr.Sampling, `{"role":"user","model":"m","content":["x"]}`, false},
		{mrtr.Sampling, `{"role":"user","model":"m"}`, false},
		{mrtr.Roots, `{"roots":[]}`, true},
		{mrtr.Roots, `{"roots":[{"uri":"file:///a"}]}`, true},
		{mrtr.Roots, `{"roots":[{"name":"a"}]}`, false},
		{mrtr.Roots, `{"roots":["a"]}`, false},
		{mrtr.Roots, `{}`, false},
	} {
		if got := tc.kind.Fits(jsontext.Value(tc.value)); got != tc.fits {
			t.Errorf("%v %s: got %v", tc.kind, tc.value, got)
		}
	}
	for _, k := range []mrtr.Kind{mrtr.Elicitation, mrtr.Sampling, mrtr.Roots} {
		if got, ok := mrtr.KindOf(k.Method()); got != k || !ok {
			t.Errorf("%v: got %v by its method", k, got)
		}
		v, ok := k.Refusal()
		if ok != (k == mrtr.Elicitation) || ok && !k.Fits(v) {
			t.Errorf("%v: is refused by %s, %v", k, v, ok)
		}
		kept := k == mrtr.Sampling
		if got := k.EmbeddedAnswer(jsontext.Value(`{"x":1,"_meta":{}}`)); strings.Contains(string(got),
			"_meta") != kept {
			t.Errorf("%v: got %s", k, got)
		}
	}
}

// The methods that may ask, and the methods of questions, agree with the method table.
func TestMethodsAreTrue(t *testing.T) {
	for _, name := range protocol.MethodNames() {
		m, _ := protocol.LookupMethod(name)
		if _, ok := mrtr.KindOf(name); ok != m.Embedded(protocol.V20260728) {
			t.Errorf("%s: is a question %v", name, ok)
		}
		if want := name == "tools/call" || name == "prompts/get" ||
			name == "resources/read"; mrtr.MayAsk(name) != want {
			t.Errorf("%s: may ask %v", name, !want)
		}
	}
}

func TestFromURLError(t *testing.T) {
	many := strings.Repeat(`{"mode":"url","url":"https://a.example/","message":"m"},`,
		mrtr.MaxInputs+1)
	for _, tc := range []struct{ data, want string }{
		{
			`{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example/","message":"m"},{"mode":"url","url":"https://b.example/","message":"n"}]}`,
			`{"resultType":"input_required","inputRequests":{"0":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/","message":"m"}},` +
				`"1":{"method":"elicitation/create","params":{"mode":"url","url":"https://b.example/","message":"n"}}}}`,
		},
		{`{}`, "is not an array"},
		{`{"elicitations":{}}`, "is not an array"},
		{`{"elicitations":[]}`, "is empty"},
		{`{"elicitations":[{"mode":"form","url":"u","message":"m"}]}`,
			"elicitations.0 is not one of mode url"},
		{`{"elicitations":[{"mode":"url","message":"m"}]}`, "elicitations.0 is not one of mode url"},
		{`{"elicitations":[` + strings.TrimSuffix(many, ",") + `]}`, "more than 32"},
	} {
		inputs, err := mrtr.FromURLError(jsontext.Value(tc.data))
		got := string(mrtr.Required{Inputs: inputs}.Result())
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%.80s: got %s, want %s", tc.data, got, tc.want)
		}
	}
}

// FuzzRead reads arbitrary results and params without a panic. A value that was read has the same
// content after it is written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"inputRequests":{"b":` + form + `},"requestState":"x"}`))
	f.Add(
		[]byte(`{"inputResponses":{"a":{"action":"accept","content":{"n":[1]}}},"requestState":"s"}`),
	)
	f.Add([]byte(`{"elicitations":[{"mode":"url","url":"u","message":"m"}]}`))
	f.Add([]byte(`{"inputRequests":{"`))
	f.Fuzz(func(t *testing.T, in []byte) {
		raw := jsontext.Value(in)
		required, failed := mrtr.Parse(raw)
		retry, refused := mrtr.ParseRetry(raw)
		mrtr.FromURLError(raw)
		mrtr.TypeOf(raw)
		for k := mrtr.Elicitation; k <= mrtr.Roots; k++ {
			k.Fits(raw)
			k.EmbeddedAnswer(raw)
		}
		if !raw.IsValid() || raw.Kind() != '{' {
			return
		}
		if failed == nil {
			again, err := mrtr.Parse(required.Result())
			if fmt.Sprint(again) != fmt.Sprint(required) && len(required.Inputs) > 0 ||
				err != nil && (len(required.Inputs) > 0 || len(required.State) > 0) {
				t.Fatalf("%s: read as %v, then as %v, %v", in, required, again, err)
			}
		}
		if refused == nil {
			again, err := mrtr.ParseRetry(retry.Set(raw))
			if fmt.Sprint(again) != fmt.Sprint(retry) || err != nil {
				t.Fatalf("%s: read as %v, then as %v, %v", in, retry, again, err)
			}
		}
	})
}

func ExampleRequired_Result() {
	ask := mrtr.Required{
		Inputs: []mrtr.Input{mrtr.Embed("roots-1", "roots/list", nil)},
		State:  jsontext.Value(`"v1.k7.opaque"`),
	}
	fmt.Println(string(ask.Result()))
	// Output:
	// {"resultType":"input_required","inputRequests":{"roots-1":{"method":"roots/list","params":{}}},"requestState":"v1.k7.opaque"}
}
