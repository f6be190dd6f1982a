package subject

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// serveBare is a net/http server that answers as an MCP server would and keeps nothing: the price of the connections themselves, and of a
// call that costs nothing.
func serveBare(_ context.Context, address string) (string, error) {
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(bareMCP), ReadHeaderTimeout: 5 * time.Second}
	go func() { // owner: the process, which ends with it
		fmt.Fprintln(os.Stderr, "bench: bare:", server.Serve(l))
		os.Exit(1)
	}()
	return "http://" + l.Addr().String() + "/mcp", nil
}

// bareSession is the session of every client. Those of an earlier process are not known.
var bareSession = fmt.Sprint("bare-", os.Getpid())

// bareStdio is the same on standard input and output.
func bareStdio(_ context.Context, _ string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m, err := jsonrpc.Decode(lines.Bytes(), jsonrpc.Limits{Bytes: 1 << 20}); err == nil && m.Kind() == jsonrpc.KindRequest {
			if _, err := out.Write(append(jsonrpc.Response(m.ID, result(m)).Append(nil), '\n')); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func bareMCP(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && id != bareSession {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method == http.MethodDelete {
		return
	}
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{Bytes: 1 << 20})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.Kind() != jsonrpc.KindRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", bareSession)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(jsonrpc.Response(m.ID, result(m)).Append(nil)) // a client that is gone needs no answer
}

// result is what the smallest server answers: its name, a tool that says the message it was given, and one that says the id of the process.
func result(m jsonrpc.Message) jsontext.Value {
	switch m.Method {
	case "initialize":
		return jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`)
	case "tools/list":
		return jsontext.Value(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"self","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		message, _ := splice.Get(m.Params, "arguments", "message")
		if name, _ := splice.GetString(m.Params, "name"); name == "self" {
			message = jsontext.Value(strconv.Quote(strconv.Itoa(os.Getpid())))
		}
		return jsontext.Value(`{"content":[{"type":"text","text":` + string(message) + `}]}`)
	}
	return jsontext.Value(`{}`)
}
