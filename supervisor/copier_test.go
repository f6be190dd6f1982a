package supervisor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// copier is a client that keeps no copy of a large message.
type copier struct {
	*nearServer
	path    string
	modern  bool
	session string
}

// client returns a client of a path, of either era.
func (n *nearServer) client(path string, modern bool) *copier {
	n.Helper()
	c := &copier{nearServer: n, path: path, modern: modern}
	if modern {
		return c
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + farCapabilities + `,"clientInfo":{"name":"c","version":"1"}}}`
	resp, err := http.ReadResponse(bufio.NewReader(c.write("", [][]byte{[]byte(hello)})), nil)
	if err != nil {
		n.Fatal(err)
	}
	resp.Body.Close()
	c.session = resp.Header.Get("Mcp-Session-Id")
	c.write("", [][]byte{[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)})
	return c
}

// pad makes requests large. All requests share it.
var pad = []byte(strings.Repeat("x", copied))

// write sends a request over its own connection.
func (c *copier) write(tool string, body [][]byte) net.Conn {
	c.Helper()
	conn, err := net.Dial("tcp", c.url)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { conn.Close() })
	length := 0
	for _, part := range body {
		length += len(part)
	}
	fmt.Fprintf(
		conn,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "+
			"application/json, text/event-stream\r\nContent-Length: %d\r\n", c.path, length,
	)
	switch {
	case c.modern:
		fmt.Fprintf(
			conn, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n", tool,
		)
	case c.session != "":
		fmt.Fprintf(conn, "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n", c.session)
	}
	fmt.Fprint(conn, "\r\n")
	for _, part := range body {
		if _, err := conn.Write(part); err != nil {
			c.Fatal(err)
		}
	}
	return conn
}

// call calls a tool with large or small arguments.
func (c *copier) call(tool string, large bool) net.Conn {
	c.Helper()
	value := []byte("x")
	if large {
		value = pad
	}
	begin, end := c.calling(tool)
	return c.write(tool, [][]byte{[]byte(begin + `{"pad":"`), value, []byte(`"}` + end + `}`)})
}

// calling returns a call of a tool up to its arguments, and the rest of the call except its last
// brace.
func (c *copier) calling(tool string) (begin, end string) {
	meta := `"progressToken":1`
	if c.modern {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + farCapabilities
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":`, `,"_meta":{` + meta + `}}`
}

// answered calls a tool and reads the whole answer.
func (c *copier) answered(tool string, large bool) {
	c.Helper()
	conn := c.call(tool, large)
	defer conn.Close()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10)); err != nil ||
		!bytes.Contains(body, []byte(`"text":"y`)) {
		c.Fatalf("%s of %s: %d %.300s, %v", tool, c.path, resp.StatusCode, body, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}
