package client_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// missing returns the error of a resolver for a name that does not exist.
func missing() error {
	return &net.OpError{
		Op: "dial", Net: "tcp",
		Err: &net.DNSError{Err: "no such host", Name: "missing.test", IsNotFound: true},
	}
}

// told checks what a caller is told.
func told(t *testing.T, err error, parts ...string) {
	t.Helper()
	answer := fmt.Sprint(err)
	for _, part := range parts {
		if !strings.Contains(answer, part) {
			t.Errorf("the caller is told %q, not %q", answer, part)
		}
	}
}

// A server that cannot be reached, so that waiting does not help, is dialled once and left alone,
// in either era. Report, log and callers say why and what to do, with one incident.
func TestObstacleIsNotTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		change setup
		method string
		err    error
		cause  string
		do     string
	}{
		{"certificate", nil, "initialize", x509.UnknownAuthorityError{},
			streamable.CauseCertificate, "in `ca`"},
		{"401", nil, "initialize", &streamable.StatusError{Status: 401}, streamable.CauseRefused,
			"look at its `headers`"},
		{"403", nil, "initialize", &streamable.StatusError{Status: 403}, streamable.CauseRefused,
			"look at its `headers`"},
		{"401 of a modern server", modern(elicits), "server/discover",
			&streamable.StatusError{Status: 401}, streamable.CauseRefused, "look at its `headers`"},
		{"page", nil, "initialize", &streamable.PageError{Type: "text/html"}, streamable.CausePage,
			"answers with a page"},
		{"page of a modern server", modern(elicits), "server/discover",
			&streamable.PageError{Type: "text/html"}, streamable.CausePage, "answers with a page"},
		{"name", nil, "initialize", missing(), streamable.CauseName, "correct the url"},
		{"redirect", nil, "initialize",
			&streamable.StatusError{Status: 308, Location: "b.test/mcp", Moved: "https://b.test/mcp"},
			streamable.CauseRedirect, `"https://b.test/mcp" as its url`},
		{"redirect of a modern server", modern(elicits), "server/discover",
			&streamable.StatusError{Status: 307}, streamable.CauseRedirect, "to no address"},
		{"name of a modern server", modern(elicits), "server/discover", missing(), streamable.CauseName,
			"correct the url"},
		{"certificate of a modern server", modern(elicits), "server/discover",
			x509.CertificateInvalidError{Reason: x509.Expired}, streamable.CauseCertificate, "renewed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, c.change, func(r *rig) {
				p := r.server()
				p.Send(failure(p.Expect(c.method), c.err))
				p.ExpectClosed()
				r.WaitIdle()
				got := r.report()
				end := client.EndingOf(got.Cause)
				if got.State != client.Quarantined || !end.Permanent || end.Cause != c.cause ||
					!strings.Contains(end.Text, c.do) || end.Incident == "" {
					t.Errorf("report: %v, %+v", got.State, end)
				}
				lost := client.LostError("files", "tools/call", false, got.Cause)
				told(t, lost, c.do)
				if data := string(lost.Data); !strings.Contains(data, `"retryable":false`) ||
					!strings.Contains(data, end.Incident) {
					t.Errorf("a caller gets %s", data)
				}
				lines := testrig.Of[telemetry.UpstreamStartFailed](&r.Events)
				if len(lines) != 1 || lines[0].Class != client.Permanent ||
					!strings.Contains(lines[0].Reason, c.do) || lines[0].Incident != end.Incident {
					t.Errorf("the log says %+v", lines)
				}
			})
		})
	}
}

// A call that meets an obstacle has the server dialled once more. The server is left alone only if
// the obstacle is still there.
func TestObstacleOfACall(t *testing.T) {
	for _, mended := range []bool{true, false} {
		run(t, nil, func(r *rig) {
			p := r.ready(`{"tools":{}}`)
			x := r.call("one")
			p.Send(failure(p.Expect("tools/call"), missing()))
			p.ExpectClosed()
			r.WaitIdle()
			want := client.Ready
			if mended {
				p = r.ready(`{"tools":{}}`)
				p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				r.WaitIdle()
				if err := r.outcome(x).Err; err != nil {
					t.Error(err)
				}
			} else {
				p = r.server()
				p.Send(failure(p.Expect("initialize"), missing()))
				want = client.Quarantined
			}
			r.WaitIdle()
			got := r.report()
			if got.State != want {
				t.Errorf("report: %v, want %v", got.State, want)
			}
			if !mended {
				told(t, client.LostError("files", "tools/call", false, got.Cause), "correct the url")
			}
		})
	}
}

// A refusal is not permanent where the server says when to come back. A refusal of a call to a
// server in use is about that call.
func TestRefusalThatMayPass(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.dialled()
		p.Send(failure(p.Expect("initialize"), &streamable.StatusError{
			Status: 403, RetryAfter: time.Second,
		}))
		r.isAway()
		if end := client.EndingOf(r.report().Cause); end.Permanent {
			t.Errorf("the cause is %+v", end)
		}
	})
	for _, err := range []error{&streamable.StatusError{Status: 403},
		&streamable.PageError{Type: "text/html"}} {
		run(t, nil, func(r *rig) {
			p := r.ready(`{"tools":{}}`)
			x := r.call("one")
			p.Send(failure(p.Expect("tools/call"), err))
			r.WaitIdle()
			if got := r.report(); got.State != client.Ready || r.outcome(x).Err == nil {
				t.Errorf("report: %v", got.State)
			}
		})
	}
}

// A server that answers its handshake in no revision that may be spoken to it would do so again. It
// is left alone, in either era, and everybody is told why.
func TestAnswerInARevisionOfNobody(t *testing.T) {
	within := func(floor, ceiling protocol.Version, change setup) setup {
		return func(o *client.Options) {
			if change != nil {
				change(o)
			}
			o.Policy.Floor, o.Policy.Ceiling = floor, ceiling
		}
	}
	for _, tt := range []struct {
		name           string
		change         setup
		method, answer string
		texts          []string
	}{
		{"unknown", nil, "initialize", `{"protocolVersion":"2025-09-01","capabilities":{}}`, []string{
			"2025-11-25",
		}},
		{"future", nil, "initialize", `{"protocolVersion":"2031-01-01","capabilities":{}}`, []string{
			"2025-11-25",
		}},
		{"none", nil, "initialize", `{"capabilities":{}}`, []string{
			"protocolVersion is missing", "2025-11-25",
		}},
		{"no date", nil, "initialize", `{"protocolVersion":"latest","capabilities":{}}`, []string{
			"latest", "2025-11-25",
		}},
		{"not allowed", within(protocol.V20250618, 0, nil), "initialize",
			`{"protocolVersion":"2025-03-26","capabilities":{}}`, []string{"2025-06-18"}},
		{"of a modern server", within(protocol.V20260728, 0, modern(elicits)), "server/discover",
			`{"supportedVersions":["2031-01-01"],"capabilities":{}}`,
			[]string{"none of its revisions is supported", "2026-07-28"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, tt.change, func(r *rig) {
				p := r.server()
				p.Reply(p.Expect(tt.method), tt.answer)
				p.ExpectClosed()
				r.WaitIdle()
				got := r.report()
				end := client.EndingOf(got.Cause)
				if got.State != client.Quarantined || !end.Permanent {
					t.Fatalf("report: %v, %+v", got.State, end)
				}
				lost := client.LostError("files", "tools/call", false, got.Cause)
				told(t, lost, append(tt.texts, "use a version of the server that speaks one of")...)
				if data := string(lost.Data); !strings.Contains(data, `"retryable":false`) {
					t.Errorf("a caller gets %s", data)
				}
			})
		})
	}
}
