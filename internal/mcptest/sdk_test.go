//lint:file-ignore SA1019 what 2026-07-28 deprecates is what older servers do to a host

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverOptions are the options of a client that answers every request of the test server.
func serverOptions() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context,
			r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			said := r.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
				Content: &mcp.TextContent{Text: "you said " + said}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		},
	}
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (string, error) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	return Text(t, r), nil
}

// The test server's tools do what their descriptions say, for a real client of a real process.
func TestServerTools(t *testing.T) {
	s := ConnectStdio(t, exec.Command(Server(t), "-revision", "2025-11-25"), serverOptions())
	tests := []struct {
		tool string
		args map[string]any
		want string
	}{
		{"echo", map[string]any{"message": "hi"}, "hi"},
		{"sleep", map[string]any{"millis": 1}, "slept 1 ms"},
		{"count", nil, "1"},
		{"count", nil, "2"},
		{"ask_sampling", map[string]any{"message": "hi"}, "you said hi"},
		{"ask_elicitation", map[string]any{"message": "who?"}, "accept: ann"},
		{"list_roots", nil, ""},
		{"log", map[string]any{"message": "hi"}, "logged"},
		{"progress", map[string]any{"steps": 2}, "2 steps"},
		{"add_tool", map[string]any{"name": "more"}, "added more"},
		{"more", nil, "more"},
		{"big", map[string]any{"bytes": 5}, "xxxxx"},
		{"touch", nil, "touched"},
	}
	for _, test := range tests {
		if got, err := call(t, s, test.tool, test.args); err != nil || got != test.want {
			t.Errorf("%s %v = %q, %v, want %q", test.tool, test.args, got, err, test.want)
		}
	}
	text, err := call(t, s, "env", nil)
	var env struct {
		Env, Args []string
		Dir       string
		PID       int
	}
	if err != nil || json.Unmarshal([]byte(text), &env) != nil || env.PID == 0 || env.Dir == "" ||
		len(env.Env) == 0 || len(env.Args) != 2 {
		t.Errorf("env = %q, %v", text, err)
	}
}

func TestServerAnnouncesToolsAndProgress(t *testing.T) {
	news := make(chan string, 8)
	options := serverOptions()
	options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {
		news <- "tools"
	}
	options.ProgressNotificationHandler = func(_ context.Context,
		r *mcp.ProgressNotificationClientRequest) {
		news <- fmt.Sprint(r.Params.ProgressToken, " ", r.Params.Progress)
	}
	s := ConnectStdio(t, exec.Command(Server(t), "-revision", "2025-11-25"), options)
	hear := func(want string) {
		t.Helper()
		select {
		case got := <-news:
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("did not hear %q", want)
		}
	}
	params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"steps": 2}}
	params.SetProgressToken("p")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	hear("p 1")
	hear("p 2")
	if _, err := call(t, s, "add_tool", map[string]any{"name": "more"}); err != nil {
		t.Fatal(err)
	}
	hear("tools")
}

// The two ways in which the test server dies differ in exit code and standard error.
func TestServerDiesAsAsked(t *testing.T) {
	tests := []struct {
		tool, stderr string
		args         map[string]any
		code         int
	}{
		{"crash", "crash was called", map[string]any{"code": 7}, 7},
		{"panic", "panic: panic was called", nil, 2},
	}
	for _, test := range tests {
		var stderr strings.Builder
		command := exec.Command(Server(t))
		command.Stderr = &stderr
		s := ConnectStdio(t, command, nil)
		if got, err := call(t, s, test.tool, test.args); err == nil {
			t.Errorf("%s answered %q", test.tool, got)
		}
		_ = s.Close() // waits for the process
		if got := command.ProcessState.ExitCode(); got != test.code {
			t.Errorf("%s: exit code = %d, want %d", test.tool, got, test.code)
		}
		if !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%s: stderr %q", test.tool, stderr.String())
		}
	}
}
