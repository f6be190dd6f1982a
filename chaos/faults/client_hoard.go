package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

var clientHoard = Kind{
	Name: "client.hoard", Rows: []string{"F43"}, Aim: AtTenant, Quiet: true,
	Is: "clients make one request on a connection and keep it for nothing",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "200", Low: 1, High: 10_000, Is: "how many connections"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.With.Number("clients")
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		return inSession(session, begin(ctx, s, clients, again, func(ctx context.Context, _ int) (int, error) {
			conn, err := s.Client.asked(ctx, session.Headers(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
			_, _ = io.Copy(io.Discard, conn) // until the host has enough of it, or the fault is over
			return 1, nil
		}).injected(fmt.Sprintf("the listener, by %d connections of %s", clients, s.Tenant))), nil
	},
}

// asked is a bare connection on which one request was made and its response's header was read.
func (c Client) asked(ctx context.Context, header http.Header, method, body string) (*net.TCPConn, error) {
	conn, u, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(visitTimeout))
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, u.Path, u.Host, len(body))
	if err == nil {
		err = header.Write(conn)
	}
	if err == nil {
		_, err = io.WriteString(conn, "\r\n"+body)
	}
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("http status %d", resp.StatusCode)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}
