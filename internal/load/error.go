package load

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// CallError is a JSON-RPC error with which the server answered a call.
type CallError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func (e *CallError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// ToolError is the text of a tool call that failed.
type ToolError string

func (e ToolError) Error() string { return "the tool failed: " + string(e) }

// StatusError is a response with an HTTP status other than 2xx.
type StatusError struct {
	Status int
	// Text is taken from the body: the message of a JSON-RPC error, or else the first line. It has at
	// most MaxStatusText bytes.
	Text string
}

// MaxStatusText bounds StatusError.Text to about one and a half lines of a terminal, in bytes.
const MaxStatusText = 200

func (e StatusError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("http status %d", e.Status)
	}
	return fmt.Sprintf("http status %d: %s", e.Status, e.Text)
}

// statusError reads an unsuccessful response to its end.
func statusError(r *http.Response) StatusError {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxReply)) // as much of it as arrived
	_ = r.Body.Close()
	var m message
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &m) == nil && m.Error != nil {
		text = m.Error.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	return StatusError{
		Status: r.StatusCode, Text: telemetry.Clean(strings.TrimSpace(text), MaxStatusText),
	}
}

// Permanent reports whether an error is a server's permanent answer: the called tool or method does
// not exist, the params are invalid, or the tool has failed.
func Permanent(err error) bool {
	if answer, ok := errors.AsType[*CallError](err); ok {
		return answer.Code == jsonrpc.CodeInvalidParams || answer.Code == jsonrpc.CodeMethodNotFound
	}
	_, failed := errors.AsType[ToolError](err)
	return failed
}
