//lint:file-ignore SA1019 what 2026-07-28 deprecates is what older servers do to a host

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// run is a tool: it takes arguments and returns a text. An error becomes a result with isError.
type run[In any] func(ctx context.Context, r *mcp.CallToolRequest, in In) (string, error)

func add[In any](s *mcp.Server, name, description string, f run[In]) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			text, err := f(ctx, r, in)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}

// Arguments of the tools. A field without omitempty is required.
type (
	none    struct{}
	message struct {
		Message string `json:"message"`
	}
	duration struct {
		Millis int    `json:"millis"`
		Pad    string `json:"pad,omitempty"` // makes the request large
	}
	signal struct {
		File string `json:"file"`
		Pad  string `json:"pad,omitempty"`
	}
	exit struct {
		Code int `json:"code,omitempty"`
	}
	size struct {
		Bytes int `json:"bytes"`
	}
	steps struct {
		Steps  int `json:"steps"`
		Millis int `json:"millis,omitempty"`
	}
	named struct {
		Name string `json:"name"`
	}
	line struct {
		Level   string `json:"level,omitempty"`
		Message string `json:"message"`
	}
)

// maxBytes bounds the output of the tool big: twice the largest message that the host accepts.
const maxBytes = 32 << 20

func addTools(s *mcp.Server) {
	var calls atomic.Int64
	add(s, "echo", "Answers with its message.",
		func(_ context.Context, _ *mcp.CallToolRequest, in message) (string, error) {
			return in.Message, nil
		})
	add(s, "sleep", "Answers after some time, or not at all when it is cancelled.",
		func(ctx context.Context, _ *mcp.CallToolRequest, in duration) (string, error) {
			select {
			case <-time.After(time.Duration(in.Millis) * time.Millisecond):
				return "slept " + strconv.Itoa(in.Millis) + " ms", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
	add(s, "hold", "Answers once a file is there, or not at all when it is cancelled.",
		func(ctx context.Context, _ *mcp.CallToolRequest, in signal) (string, error) {
			for {
				if _, err := os.Stat(in.File); err == nil {
					return "held", nil
				}
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
		})
	add(s, "crash", "Ends the process with an exit code, 1 if none is given.",
		func(_ context.Context, _ *mcp.CallToolRequest, in exit) (string, error) {
			fmt.Fprintln(os.Stderr, "testserver: crash was called")
			os.Exit(max(in.Code, 1))
			return "", nil
		})
	add(s, "panic", "Panics, which ends the process with exit code 2.",
		func(context.Context, *mcp.CallToolRequest, none) (string, error) {
			go panic("panic was called") // in a goroutine of its own, where no caller can recover it
			select {}
		})
	add(s, "count", "Answers how often it was called in this process.",
		func(context.Context, *mcp.CallToolRequest, none) (string, error) {
			return strconv.FormatInt(calls.Add(1), 10), nil
		})
	add(s, "ask_elicitation", "Asks the user for a name and answers with it.", askElicitation)
	add(s, "ask_sampling", "Asks the client's model and answers with what it said.", askSampling)
	add(s, "list_roots", "Answers with the URIs of the client's roots, a line each.", listRoots)
	add(s, "log", "Logs one line and answers.",
		func(ctx context.Context, r *mcp.CallToolRequest, in line) (string, error) {
			level := mcp.LoggingLevel(in.Level)
			if level == "" {
				level = "info"
			}
			return "logged", r.Session.Log(ctx, &mcp.LoggingMessageParams{
				Level: level, Logger: "testserver", Data: in.Message,
			})
		})
	add(s, "progress", "Reports its progress, with a pause after each report, and answers.",
		reportProgress)
	add(s, "add_tool", "Adds a tool of the given name, of which the client is told.",
		func(_ context.Context, _ *mcp.CallToolRequest, in named) (string, error) {
			add(s, in.Name, "Was added while the server ran.",
				func(context.Context, *mcp.CallToolRequest, none) (string, error) {
					return in.Name, nil
				})
			return "added " + in.Name, nil
		})
	add(s, "big", "Answers with so many bytes.",
		func(_ context.Context, _ *mcp.CallToolRequest, in size) (string, error) {
			if in.Bytes < 0 || in.Bytes > maxBytes {
				return "", fmt.Errorf("bytes: %d, want 0 to %d", in.Bytes, maxBytes)
			}
			return strings.Repeat("x", in.Bytes), nil
		})
	add(s, "env", "Answers with the process's environment, working directory and arguments as JSON.",
		func(context.Context, *mcp.CallToolRequest, none) (string, error) {
			dir, err := os.Getwd()
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(map[string]any{
				"env": os.Environ(), "dir": dir, "args": os.Args[1:], "pid": os.Getpid(),
			})
			return string(text), err
		})
	add(s, "touch", "Tells subscribers that test://watched changed.",
		func(ctx context.Context, r *mcp.CallToolRequest, _ none) (string, error) {
			return "touched", s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watchedURI})
		})
}

func reportProgress(ctx context.Context, r *mcp.CallToolRequest, in steps) (string, error) {
	token := r.Params.GetProgressToken()
	for i := range in.Steps {
		if token != nil {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(i + 1), Total: float64(in.Steps),
			})
			if err != nil {
				return "", err
			}
		}
		select {
		case <-time.After(time.Duration(in.Millis) * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return fmt.Sprintf("%d steps", in.Steps), nil
}
