package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// session is what a client is to do with one server: where it is, and what to ask it.
type session struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // HTTP+SSE instead of Streamable HTTP
	Root    string            `json:"root"`          // the one root of the client
	Steps   []step            `json:"steps"`
}

// seen is what the client saw: what the server said of itself, and an object with a result or an
// error for each step.
type seen struct {
	Name     string
	Refused  map[string]any // why there is no session
	Greeting any
	Steps    []any
}

// sdk is a client that surveys.
type sdk struct {
	name   string
	survey func(t *testing.T, sessions []session) []seen
}

// sdks are the official clients.
var sdks = []sdk{
	{"TypeScript 1", typescript("1")},
	{"TypeScript 2", typescript("2")},
	{"Go", goSurvey},
}

// surveyTime bounds the survey of one server; the driver bounds each step.
const surveyTime = 3 * time.Minute

// typescript surveys with a generation of the TypeScript SDK.
func typescript(generation string) func(*testing.T, []session) []seen {
	return func(t *testing.T, sessions []session) (all []seen) {
		t.Helper()
		plan, err := json.Marshal(sessions)
		if err != nil {
			t.Fatal(err)
		}
		out, err := mcptest.Script(t, time.Duration(len(sessions))*surveyTime, "testdata/survey.mjs")(plan, generation)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(out))
		for range sessions {
			var s seen
			if err := decoder.Decode(&s); err != nil {
				t.Fatalf("TypeScript %s: %v", generation, err)
			}
			all = append(all, s)
		}
		return all
	}
}

// plain is a value as JSON has it.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("parity: %v", err))
	}
	return out
}
