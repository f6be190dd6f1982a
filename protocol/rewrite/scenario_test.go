package rewrite_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
)

var update = flag.Bool("update", false, "rewrite the outcomes in testdata")

// Each file of testdata is a list of scenarios. A scenario consists of its purpose, the translation
// and its revisions, the message, and after an arrow the outcome. A dash stands for an absent
// message.
func TestScenarios(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, scenario := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			lines := strings.Split(scenario, "\n")
			if len(lines) < 3 || !strings.HasPrefix(lines[0], "# ") {
				out = append(out, scenario) // a heading
				continue
			}
			want := strings.Join(lines[3:], "\n")
			got := play(t, lines[1], jsontext.Value(lines[2]))
			if got != want && !*update {
				t.Errorf("%s: %s\ngot  %s\nwant %s", file, lines[0], got, want)
			}
			out = append(out, strings.Join(append(lines[:3:3], got), "\n"))
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func play(t *testing.T, command string, in jsontext.Value) string {
	t.Helper()
	words := strings.SplitN(command, " ", 5)
	if len(words) < 4 {
		t.Fatalf("not a command: %s", command)
	}
	label, method := words[0], words[1]
	from, okFrom := protocol.ParseVersion(words[2])
	to, okTo := protocol.ParseVersion(words[3])
	if !okFrom || !okTo {
		t.Fatalf("no such revision: %s", command)
	}
	if string(in) == "-" {
		in = nil
	}
	var rest string
	if len(words) > 4 {
		rest = words[4]
	}
	var got jsontext.Value
	var err error
	switch label {
	case "result":
		got, err = rewrite.Result(method, from, to, in, rewrite.Options{
			Server: protocol.Implementation{Name: rest, Version: "0"},
		})
	case "item":
		for k := rewrite.Tool; k.String() != "unknown"; k++ {
			if k.String() == method {
				got = rewrite.Item(k, from, to, in)
			}
		}
	case "request":
		got, err = rewrite.Request(method, from, to, in)
	case "notification":
		got, err = rewrite.Notification(method, from, to, in)
	case "question":
		got, err = rewrite.Question(method, from, to, in, rest)
	case "answer":
		got, err = rewrite.Answer(method, from, to, in)
	case "error":
		var sent struct {
			Code    int64          `json:"code"`
			Message string         `json:"message"`
			Data    jsontext.Value `json:"data,omitempty"`
		}
		if err := json.Unmarshal(in, &sent); err != nil {
			t.Fatal(err)
		}
		e := &jsonrpc.Error{Code: sent.Code, Message: sent.Message, Data: sent.Data}
		var client protocol.ClientCapabilities
		if words, params, ok := strings.Cut(rest, " declaring "); ok {
			if client, err = protocol.ParseClientCapabilities(jsontext.Value(params)); err != nil {
				t.Fatal(err)
			}
			rest = words
		}
		told := rewrite.Error(from, to, client, method, jsontext.Value(rest), e)
		if got = in; told != e {
			sent.Code, sent.Message, sent.Data = told.Code, told.Message, told.Data
			got, _ = json.Marshal(sent)
		}
	default:
		t.Fatalf("not a command: %s", command)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("-> no: %v", err)
	case same(got, in):
		return "-> the same"
	case !got.IsValid():
		t.Errorf("%s: got no JSON: %s", command, got)
	}
	return "-> " + string(got)
}
