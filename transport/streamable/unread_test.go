package streamable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
)

// locked is a server that rejects all credentials.
func locked(t *testing.T, bodyTime time.Duration) *testServer {
	t.Helper()
	host := newTestHost(t)
	host.route = func(*http.Request) (Endpoint, *protocol.Error) {
		return Endpoint{}, protocol.Unauthenticated()
	}
	return serve(t, host, Options{Bounds: Bounds{BodyTime: bodyTime}})
}

const slowHead = "POST /t/acme/mcp HTTP/1.1\r\nHost: localhost\r\n" +
	"Content-Type: application/json\r\n%s\r\n\r\n"

// A caller without a key gets its 401 before its body has arrived. Its connection continues if the
// body arrives in time.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	s := locked(t, 10*time.Second)
	for framing, rest := range map[string]string{
		"Content-Length: 40":         strings.Repeat("x", 40),
		"Transfer-Encoding: chunked": "3\r\nxxx\r\n0\r\n\r\n",
	} {
		conn := connect(t, s.Listener.Addr().String())
		conn.SetDeadline(time.Now().Add(5 * time.Second)) // earlier than the time limit of the body
		answers := bufio.NewReader(conn)
		for range 2 {
			fmt.Fprintf(conn, slowHead, framing)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%s: %v", framing, err)
			}
			if body := content(t, resp); resp.StatusCode != http.StatusUnauthorized || body == "" {
				t.Errorf("%s: %d %s", framing, resp.StatusCode, body)
			}
			io.WriteString(conn, rest)
		}
	}
}

// The body of a refused request that arrives too late, or breaks off, is never taken for a request.
func TestLateBodyOfARefusalIsNoRequest(t *testing.T) {
	s := locked(t, 50*time.Millisecond)
	conn := connect(t, s.Listener.Addr().String())
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, slowHead, "Content-Length: 5000")
	answers := bufio.NewReader(conn)
	resp, err := http.ReadResponse(answers, nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("got %v, %v", resp, err)
	}
	content(t, resp)
	time.Sleep(200 * time.Millisecond)
	fmt.Fprintf(conn, slowHead, "Content-Length: 0")
	if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("the body was answered, or the connection stays: %v", err)
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}
