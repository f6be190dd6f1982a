package streamable

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A connection can be reused after a request, in whichever way the request states the end of its
// body.
func TestBodyEndKeepsTheConnection(t *testing.T) {
	const head = "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, " +
		"text/event-stream\r\n" +
		"Content-Type: application/json\r\nMcp-Session-Id: session-1\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(pricedBody))
	chunks := fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n", 10, pricedBody[:10], len(pricedBody)-10,
		pricedBody[10:])
	server, connections := edgeServer(t)
	conn, err := net.Dial("tcp", keep(t, server, connections).conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for name, request := range map[string][]string{
		"a length": {head + length + "\r\n" + pricedBody},
		"chunks":   {head + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "\r\n"},
		"chunks and trailers": {head + "Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n" + chunks +
			"A: b\r\n\r\n"},
		"after 100": {head + length + "Expect: 100-continue\r\n\r\n", pricedBody},
	} {
		for range 2 {
			for i, part := range request {
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				body, err := io.ReadAll(resp.Body)
				want := http.StatusOK
				if i < len(request)-1 {
					want = http.StatusContinue
				}
				if err != nil || resp.StatusCode != want || resp.Close ||
					want == http.StatusOK && len(body) == 0 {
					t.Errorf("%s: %s, close %t, %q: %v", name, resp.Status, resp.Close, body, err)
				}
			}
		}
	}
}
