package subject

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// MaxMessage bounds a message of the servers here, and of relays to them, in bytes: the largest
// payload and its envelope.
const MaxMessage = 4 << 20

// The features of an echo server: EchoTools tools and one resource. The tool "echo" answers with
// the message that it gets. Touch does the same, but as a program first announces a change of
// Resource. Self answers with the pid of the process.
const (
	EchoTools = 3
	Touch     = "touch"
	Self      = "self"
	Resource  = "bench:resource"
)

const tools = `{"name":"echo","inputSchema":{"type":"object"}},{"name":"` + Touch +
	`","inputSchema":{"type":"object"}},` +
	`{"name":"` + Self + `","inputSchema":{"type":"object"}}`

// touched is the notification for subscribers.
var touched = jsonrpc.Notification("notifications/resources/updated",
	jsontext.Value(`{"uri":"`+Resource+`"}`))

// echo is a minimal server of one era or of both. It keeps no state.
type echo struct {
	legacy, modern bool
	list           string // of its tools, as JSON

	// Only for HTTP.
	sse     bool // calls are answered with an event stream
	streams bool // sessions may open a standing stream, on which nothing is sent
}

// newEcho returns the server that the argument describes. The argument is its eras, "legacy",
// "modern" or "both", optionally followed by a space and either "sse" or the number of additional
// tools that it lists.
func newEcho(argument string) (e echo, err error) {
	eras, form, _ := strings.Cut(argument, " ")
	e = echo{legacy: eras != "modern", modern: eras != "legacy", sse: form == "sse"}
	more := 0
	if form != "" && !e.sse {
		more, err = strconv.Atoi(form)
	}
	var list strings.Builder
	list.WriteString(tools)
	for i := range more {
		fmt.Fprintf(&list, `,{"name":"tool%d","inputSchema":{"type":"object"}}`, i)
	}
	e.list = list.String()
	if err != nil || eras != "legacy" && eras != "modern" && eras != "both" {
		return e, fmt.Errorf("%q names no server", argument)
	}
	return e, nil
}

// echoStdio is the server as a program.
func echoStdio(_ context.Context, argument string, in io.Reader, out io.Writer) error {
	e, err := newEcho(argument)
	if err != nil {
		return err
	}
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // the host has ended it
		}
		m, err := jsonrpc.Decode(line[:len(line)-1], jsonrpc.Limits{Bytes: MaxMessage})
		if err == nil && m.Kind() == jsonrpc.KindRequest {
			if calls(m, Touch) {
				_, _ = w.Write(append(touched.Append(nil), '\n')) // Flush reports errors
			}
			_, _ = w.Write(append(e.answer(m).Append(nil), '\n')) // likewise
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// calls reports whether a request calls a tool.
func calls(m jsonrpc.Message, tool string) bool {
	name, _ := jsonedit.GetString(m.Params, "name")
	return m.Method == "tools/call" && name == tool
}

// answer returns the answer to a request.
func (e echo) answer(m jsonrpc.Message) jsonrpc.Message {
	complete := ""
	switch modern := protocol.IsModern(m.Params); {
	case modern && !e.modern, !modern && !e.legacy:
		return jsonrpc.Failure(m.ID, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "method not found",
		})
	case modern:
		complete = `"resultType":"complete",`
	}
	switch m.Method {
	case "initialize":
		return jsonrpc.Response(m.ID, jsontext.Value(
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"echo","version":"1"}}`))
	case "server/discover":
		return jsonrpc.Response(m.ID, jsontext.Value(
			`{`+complete+`"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`))
	case "tools/list":
		if complete != "" {
			complete += `"ttlMs":0,"cacheScope":"private",`
		}
		return jsonrpc.Response(m.ID, jsontext.Value(`{`+complete+`"tools":[`+e.list+`]}`))
	case "resources/list":
		return jsonrpc.Response(m.ID,
			jsontext.Value(`{"resources":[{"uri":"`+Resource+`","name":"one"}]}`))
	case "resources/subscribe", "ping":
		return jsonrpc.Response(m.ID, jsontext.Value(`{}`))
	case "tools/call":
		message, _ := jsonedit.Get(m.Params, "arguments", "message")
		if calls(m, Self) {
			message = jsontext.Value(strconv.Quote(strconv.Itoa(os.Getpid())))
		}
		result := make([]byte, 0, len(message)+80)
		result = append(append(result, '{'), complete...)
		result = append(append(append(result, `"content":[{"type":"text","text":`...), message...),
			`}]}`...)
		return jsonrpc.Response(m.ID, result)
	}
	return jsonrpc.Failure(m.ID, &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "method not found",
	})
}
