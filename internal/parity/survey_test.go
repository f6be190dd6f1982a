package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// session tells a client which server to connect to and which steps to run.
type session struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // HTTP+SSE instead of Streamable HTTP
	Root    string            `json:"root"`          // the only root of the client
	Steps   []step            `json:"steps"`
}

// seen is the report of a client: the server's description of itself, and for each step an object
// with a result or an error.
type seen struct {
	Name     string
	Refused  map[string]any // reason for which there is no session
	Greeting any
	Steps    []any
}

// sdk is a client that surveys servers.
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

// surveyTime is the time-out of the survey of one server. The driver has a time-out for each step.
const surveyTime = 3 * time.Minute

// typescript surveys servers with a generation of the TypeScript SDK.
func typescript(generation string) func(*testing.T, []session) []seen {
	return func(t *testing.T, sessions []session) (all []seen) {
		t.Helper()
		plan, err := json.Marshal(sessions)
		if err != nil {
			t.Fatal(err)
		}
		out, err := mcptest.Script(t, time.Duration(len(sessions))*surveyTime,
			"testdata/survey.mjs")(plan, generation)
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

// toJSON converts a value to its JSON form.
func toJSON(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("parity: %v", err))
	}
	return out
}
