package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/supervisor"
)

// A client that has joined a host is told when the host has gone, and its process ends.
func TestJoinEndsWithItsHost(t *testing.T) {
	for _, c := range []struct {
		name, want string
		goes       func(*httptest.Server)
	}{
		{"down", "no host answers at ", func(host *httptest.Server) { host.Close() }},
		{"forgetful", "the server has lost the session", func(*httptest.Server) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch body, _ := io.ReadAll(r.Body); {
				case r.Method != http.MethodPost:
					w.WriteHeader(http.StatusMethodNotAllowed)
				case strings.Contains(string(body), "initialize"):
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Mcp-Session-Id", "one")
					io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer host.Close()
			inR, in := io.Pipe()
			out, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- join(t.Context(), inR, outW, host.URL, tenant.Route{Tenant: "default"})
				outW.Close()
			}()
			lines := bufio.NewScanner(out)
			io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n")
			if !lines.Scan() || !strings.Contains(lines.Text(), `"result"`) {
				t.Fatalf("initialize: got %s", lines.Text())
			}
			c.goes(host)
			io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
			if !lines.Scan() || !strings.Contains(lines.Text(), `"id":2,"error"`) || !strings.Contains(lines.Text(), `server \"host\" was lost`) {
				t.Errorf("the request that found out: got %s", lines.Text())
			}
			err := <-ended
			var f *failure
			if !errors.As(err, &f) || f.code != exitUnavailable || !strings.Contains(f.Error(), c.want) {
				t.Errorf("got %v, want exit %d and %q", err, exitUnavailable, c.want)
			}
		})
	}
}

// The commands look for a host where one without a configuration listens.
func TestCommandsLookWhereADefaultHostListens(t *testing.T) {
	c, err := config.Default(config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Listen, []string{strings.TrimPrefix(defaultURL, "http://")}) || c.Admin.Listen != defaultAdmin {
		t.Errorf("it listens on %s and %s, they look at %s and %s", c.Listen, c.Admin.Listen, defaultURL, defaultAdmin)
	}
	host := httptest.NewServer(nil)
	there := hostThere(t.Context(), host.URL)
	host.Close()
	if gone := !hostThere(t.Context(), host.URL); !there || !gone {
		t.Errorf("found: %t, not found when it is gone: %t", there, gone)
	}
}
