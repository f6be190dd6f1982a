package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// maxMessage bounds a message of the servers and relays here: the largest payload and what is around it.
const maxMessage = 4 << 20

// listenAndServe serves on a port of loopback for as long as the process lives.
func listenAndServe(name string, h http.Handler) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() { // owner: the process, which ends with it
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, server.Serve(l))
		os.Exit(1)
	}()
	return "http://" + l.Addr().String() + "/mcp", nil
}

// echo is a server as small as one can be, of one era or of both: one tool, which answers with the message it was given. With sse it answers as
// an event stream. It may list more tools than it has.
type echo struct {
	legacy, modern, sse bool
	list                string // of its tools, as JSON
}

// serveEcho is the server over HTTP. Its argument names its eras, and how it answers: "legacy", "modern", "both", or one of them and " sse", or and how
// many tools it lists beside its own.
func serveEcho(_ context.Context, argument string) (string, error) {
	e, err := newEcho(argument)
	if err != nil {
		return "", err
	}
	return listenAndServe(echoRole, e)
}

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

// ServeHTTP answers a POST. There is no stream to open, which is for the server to say.
func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, ok := readRequest(w, r)
	if !ok {
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "direct")
	}
	answer := e.answer(m)
	if e.sse && m.Method == "tools/call" {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(append(answer.Append([]byte("data: ")), "\n\n"...)) // a client that is gone needs no answer
		return
	}
	writeMessage(w, answer)
}

// readRequest reads a request that is to be answered. All else it answers itself.
func readRequest(w http.ResponseWriter, r *http.Request) (m jsonrpc.Message, ok bool) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return m, false
	}
	m, err := readMessage(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case m.Kind() != jsonrpc.KindRequest:
		w.WriteHeader(http.StatusAccepted)
	default:
		return m, true
	}
	return m, false
}

func readMessage(r *http.Request) (jsonrpc.Message, error) {
	body := make([]byte, max(0, min(r.ContentLength, maxMessage)))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Decode(body, jsonrpc.Limits{Bytes: maxMessage})
}

func writeMessage(w http.ResponseWriter, m jsonrpc.Message) {
	body := m.Append(make([]byte, 0, m.Size()))
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // a client that is gone needs no answer
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
		m, err := jsonrpc.Decode(line[:len(line)-1], jsonrpc.Limits{Bytes: maxMessage})
		if err == nil && m.Kind() == jsonrpc.KindRequest {
			if name, _ := splice.GetString(m.Params, "name"); m.Method == "tools/call" && name == touch {
				_, _ = w.Write(append(touched.Append(nil), '\n')) // Flush tells
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

// tools are its own: one that answers with what it was sent, and one of the program that does so when it has said that its resource is another.
const tools = `{"name":"echo","inputSchema":{"type":"object"}},{"name":"` + touch + `","inputSchema":{"type":"object"}}`

const (
	touch    = "touch"
	resource = "bench:resource"
)

// touched is what subscribers hear.
var touched = jsonrpc.Notification("notifications/resources/updated", jsontext.Value(`{"uri":"`+resource+`"}`))

// answer is what a request is answered with.
func (e echo) answer(m jsonrpc.Message) jsonrpc.Message {
	complete := ""
	if protocol.IsModern(m.Params) {
		if complete = `"resultType":"complete",`; !e.modern {
			return jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"})
		}
	} else if !e.legacy {
		return jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"})
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
		return jsonrpc.Response(m.ID, jsontext.Value(`{"resources":[{"uri":"`+resource+`","name":"one"}]}`))
	case "resources/subscribe":
		return jsonrpc.Response(m.ID, jsontext.Value(`{}`))
	case "tools/call":
		message, _ := splice.Get(m.Params, "arguments", "message")
		result := make([]byte, 0, len(message)+80)
		result = append(append(result, '{'), complete...)
		result = append(append(append(result, `"content":[{"type":"text","text":`...), message...), `}]}`...)
		return jsonrpc.Response(m.ID, result)
	case "ping":
		return jsonrpc.Response(m.ID, jsontext.Value(`{}`))
	}
	return jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"})
}
