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

// CallError is an error that the server answered a call with, as JSON-RPC has it.
type CallError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func (e *CallError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// ToolError is the text of a tool that was called and failed.
type ToolError string

func (e ToolError) Error() string { return "the tool failed: " + string(e) }

// StatusError is an HTTP status other than 2xx that a message was answered with.
type StatusError struct {
	Status int
	Text   string // what the body says: the message of a JSON-RPC error, else its first line, of MaxStatusText bytes at most
}

// MaxStatusText is a line on a terminal and a half, in bytes.
const MaxStatusText = 200

func (e StatusError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("http status %d", e.Status)
	}
	return fmt.Sprintf("http status %d: %s", e.Status, e.Text)
}

// statusError reads what a response says that is no answer, to its end.
func statusError(r *http.Response) StatusError {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxReply)) // as much of it as came
	_ = r.Body.Close()
	var m message
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &m) == nil && m.Error != nil {
		text = m.Error.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	return StatusError{Status: r.StatusCode, Text: telemetry.Clean(strings.TrimSpace(text), MaxStatusText)}
}

// Final reports whether an error is a server's word that does not change by itself: what was called is not there, or has failed.
func Final(err error) bool {
	if answer, ok := errors.AsType[*CallError](err); ok {
		return answer.Code == jsonrpc.CodeInvalidParams || answer.Code == jsonrpc.CodeMethodNotFound
	}
	_, failed := errors.AsType[ToolError](err)
	return failed
}
