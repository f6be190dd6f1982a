package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

var clientHoard = Kind{
	Name: "client.hoard", CatalogueIDs: []string{"F43"}, Aim: AtTenant, Quiet: true,
	Description: "clients keep connections for nothing: after one request, or after half the header " +
		"of one",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "200", Low: 1, High: 20_000,
			Description: "how many connections, all of one address"},
		{Name: "after", Type: Text, Default: "request", Words: []string{"request", "header"},
			Description: "what they have sent: a request that was answered, or half a header"},
		{Name: "bytes", Type: Number, Default: "8192", Low: 1, High: 1 << 20,
			Description: "how much of a header"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond),
			High: int64(time.Minute),
			Description: "how soon a connection that the host has ended is opened again; they begin one " +
				"after " +
				"the other within it"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, cut := limitToDescriptors(s.Params.Number("clients"), descriptorsLeft())
		every := s.Params.Duration("every")
		apart := every / time.Duration(clients)
		if s.Params.Text("after") == "header" {
			return halfHeaders(ctx, s, clients, cut), nil
		}
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		return inSession(session,
			beginApart(ctx, s, clients, every, apart, func(ctx context.Context, _ int) (int, error) {
				conn, err := s.Client.asked(ctx, session.Headers(), http.MethodPost,
					`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
				if err != nil {
					return 0, err
				}
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
				_, _ = io.Copy(io.Discard, conn) // until the host closes the connection, or the fault is over
				return 1, nil
			}).injected(fmt.Sprintf("the listener, by %d connections of %s%s", clients, s.Tenant, cut))), nil
	},
}

// asked opens a bare connection, makes one request on it and reads the header of the response.
func (c Client) asked(ctx context.Context, header http.Header,
	method, body string) (*net.TCPConn, error) {
	conn, u, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(visitTimeout))
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, u.Path,
		u.Host, len(body))
	if err == nil {
		err = header.Write(conn)
	}
	if err == nil {
		_, err = io.WriteString(conn, "\r\n"+body)
	}
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil &&
			resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("http status %d", resp.StatusCode)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// halfHeaders opens connections, sends the given number of header bytes on each, and keeps them
// open until the host closes them. None of the connections identifies its tenant.
func halfHeaders(ctx context.Context, s *Site, clients int, cut string) Injected {
	bytes, every := s.Params.Number("bytes"), s.Params.Duration("every")
	half := strings.Repeat("x", bytes)
	working, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*s.Duration)
	thread := startLowPriorityThread(working)
	l := beginApart(ctx, s, clients, every, every/time.Duration(clients),
		func(ctx context.Context, _ int) (int, error) {
			var conn *net.TCPConn
			var err error
			if !thread.do(ctx, func() { conn, err = s.Client.halfHeader(ctx, half) }) || err != nil {
				return 0, err
			}
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
			_, _ = io.Copy(io.Discard, conn)
			return 1, nil
		})
	i := l.injected(fmt.Sprintf("the listener, by %d connections with half a header of %d bytes%s",
		clients, bytes, cut))
	i.Heal = func(ctx context.Context) error {
		defer stop()
		return l.heal(ctx)
	}
	return i
}

// halfHeader opens a connection and sends half the header of a request on it.
func (c Client) halfHeader(ctx context.Context, half string) (*net.TCPConn, error) {
	conn, u, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(visitTimeout))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nX-Half: %s", u.Path, u.Host, half)
	if _, err := io.WriteString(conn, head); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// spareDescriptors is the number of descriptors that a run needs besides the connections of a
// fault.
const spareDescriptors = 500

// limitToDescriptors limits a number of connections to the descriptors that this process has left.
// If it lowers the number, it also returns a text that says so.
func limitToDescriptors(clients, remaining int) (int, string) {
	most := max(1, remaining-spareDescriptors)
	if clients <= most {
		return clients, ""
	}
	return most, fmt.Sprintf(" (of %d: there are no more descriptors, see ulimit -n)", clients)
}
