package oddclients

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

var update = flag.Bool("update", false, "write docs/odd-clients.gen.md")

const (
	key = "a-key-of-the-tenant-acme-for-odd-clients"
	// proxy is the address of the trusted proxy. Every address of 127.0.0.0/8 belongs to this machine.
	proxy = "127.0.0.2"
	// wait limits the time of one request.
	wait = 10 * time.Second
)

// configuration returns the configuration of the host.
func configuration(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf(`
hosts: [mcp.example.com, ".apps.example.org"]
origins: [https://page.example, "chrome-extension://abcdefghijklmnopabcdefghijklmnop", "vscode-webview://*"]
trusted_proxies: [%s]
tenants:
  acme:
    auth: {keys: [{name: odd, sha256: %s}]}
    servers: {echo: {command: %q}}
`, proxy, hex.EncodeToString(sum[:]), mcptest.Server(t))
}

// Each unusual client of the table gets the expected answer.
func TestOddClients(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: configuration(t)})
	address := strings.TrimPrefix(host.MCP, "http://")
	opened := talk(t, address, odd{head: post, body: hello})
	session := opened.header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("no session: %s %s", opened.status, opened.body)
	}
	fill := strings.NewReplacer("$KEY", key, "$HOST", address, "$SESSION", session)
	for _, o := range table {
		t.Run(o.name, func(t *testing.T) {
			o.head = fill.Replace(o.head)
			got := talk(t, address, o)
			if got.status != o.want {
				t.Errorf("status %s, want %s: %s", got.status, o.want, got.body)
			}
			for _, part := range o.has {
				if !strings.Contains(got.text, strings.ToLower(part)) {
					t.Errorf("no %q in\n%s", part, got.text)
				}
			}
			for _, part := range o.lacks {
				if strings.Contains(got.text, strings.ToLower(part)) {
					t.Errorf("%q in\n%s", part, got.text)
				}
			}
		})
	}
}

// answer is the response to a request.
type answer struct {
	status string
	header http.Header
	body   string
	text   string // header and body in lower case
}

// talk sends a request exactly as given and reads one response.
func talk(t *testing.T, address string, o odd) answer {
	t.Helper()
	dialer := net.Dialer{Timeout: wait}
	if o.proxy {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(proxy)}
	}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(conn, bytesOf(o, address)); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(o.head, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	_ = r.Header.Write(&text)
	return answer{
		r.Status[:3], r.Header, string(body), strings.ToLower(text.String() + "\r\n" + string(body)),
	}
}

// bytesOf returns the request as sent, with the header fields that o.head lacks.
func bytesOf(o odd, address string) string {
	lines := strings.Split(strings.TrimRight(o.head, "\n"), "\n")
	has := map[string]bool{}
	var out []string
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		if i > 0 {
			has[textproto.CanonicalMIMEHeaderKey(strings.TrimPrefix(name, "!"))] = true
		}
		if !strings.HasPrefix(line, "!") {
			out = append(out, line)
		}
	}
	for _, field := range [][2]string{
		{"Host", address}, {"Authorization", "Bearer " + key}, {"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"}, {"Content-Length", fmt.Sprint(len(o.body))},
		{"Connection", "close"},
	} {
		if !has[field[0]] && !(o.body == "" && strings.HasPrefix(field[0], "Content-")) {
			out = append(out, field[0]+": "+field[1])
		}
	}
	return strings.Join(out, "\r\n") + "\r\n\r\n" + o.body
}

// docs/odd-clients.gen.md shows the current table.
func TestOddClientsPage(t *testing.T) {
	const file = "../../docs/odd-clients.gen.md"
	page := page()
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != page {
		t.Errorf("%s is not current (%v): run make docs", file, err)
	}
}
