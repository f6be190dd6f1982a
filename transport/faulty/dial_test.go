package faulty

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/fault"
	"mcpd/transport/streamable"
)

var errDialled = errors.New("dialled")

func dialled(context.Context, string, string) (net.Conn, error) { return nil, errDialled }

// A name is unknown while a fault says so, for the server of the fault and no other.
func TestNamesDoNotResolve(t *testing.T) {
	faults := fault.New(nil)
	defer faults.DisarmRun("")
	ours, others := Dial(dialled, time.Minute, faults, who), Dial(dialled, time.Minute, faults,
		fault.Who{Tenant: who.Tenant, Server: "mail"})
	if _, err := ours(t.Context(), "tcp", "files.test:80"); !errors.Is(err, errDialled) {
		t.Error(err)
	}
	id, err := faults.Arm(fault.Fault{
		Action: fault.Fail, Point: fault.Point{Place: fault.UpstreamDial, Who: who}, Lease: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ours(t.Context(), "tcp", "files.test:80")
	var missing *net.DNSError
	if !errors.As(err, &missing) || !missing.IsNotFound || missing.Name != "files.test" ||
		!strings.Contains(err.Error(), id) {
		t.Error(err)
	}
	if _, err := others(t.Context(), "tcp", "files.test:80"); !errors.Is(err, errDialled) {
		t.Error(err)
	}
	faults.Disarm(id)
	if _, err := ours(t.Context(), "tcp", "files.test:80"); !errors.Is(err, errDialled) {
		t.Error(err)
	}
}

// Dial waits for a slow resolver, but no longer than a dial may take.
func TestNamesResolveSlowly(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{2 * time.Second: 2 * time.Second,
		time.Hour: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			faults := fault.New(nil)
			defer faults.DisarmRun("")
			if _, err := faults.Arm(fault.Fault{Action: fault.Slow,
				Point: fault.Point{Place: fault.UpstreamDial}, Delay: delay, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err := Dial(dialled, 10*time.Second, faults, who)(t.Context(), "tcp", "files.test:80")
			var late net.Error
			timeout := errors.As(err, &late) && late.Timeout()
			if took := time.Since(began); took != want || timeout != (delay > want) ||
				errors.Is(err, errDialled) == timeout {
				t.Errorf("slow by %s: %v after %s", delay, err, took)
			}
		})
	}
}

// Both HTTP clients, ours and net/http's, resolve the server's name once per connection.
func TestBothClientsResolveNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	faults := fault.New(nil)
	defer faults.DisarmRun("")
	web := streamable.NewTransport(Dial(streamable.Direct, streamable.DialTime, faults, who))
	defer web.CloseIdleConnections()
	ask := func(method, body string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := web.RoundTrip(r)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	own, other := "{}", strings.Repeat(" ", 1<<20) // net/http sends large bodies
	arm := func() string {
		id, err := faults.Arm(fault.Fault{
			Action: fault.Fail, Point: fault.Point{Place: fault.UpstreamDial}, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := arm()
	for _, body := range []string{own, other} {
		var missing *net.DNSError
		if err := ask(http.MethodPost, body); !errors.As(err, &missing) {
			t.Errorf("%d bytes: %v", len(body), err)
		}
	}
	faults.Disarm(id)
	for _, body := range []string{own, other} {
		if err := ask(http.MethodPost, body); err != nil {
			t.Errorf("%d bytes, afterwards: %v", len(body), err)
		}
	}
	arm()
	if err := ask(http.MethodPost, own); err != nil {
		t.Errorf("on the connection that it has: %v", err)
	}
}
