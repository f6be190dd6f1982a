package faults

import (
	"context"
	"fmt"
	"io"
	"time"
)

var clientTrickle = Kind{
	Name: "client.trickle", CatalogueIDs: []string{"F43"}, Aim: AtTenant, Quiet: true,
	Description: "clients open connections and send the header of a request, or its body, a byte at " +
		"a time",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "100", Low: 1, High: 10_000,
			Description: "how many at once"},
		{Name: "part", Type: Text, Default: "header", Words: []string{"header", "body"},
			Description: "what is sent slowly"},
		{Name: "pause", Type: Duration, Default: "1s", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "between two bytes"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		pause, clients := s.Params.Duration("pause"), s.Params.Number("clients")
		return begin(ctx, s, clients, retryWait, func(ctx context.Context, _ int) (int, error) {
			conn, u, err := s.Client.dial(ctx)
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			begins := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n", u.Path, u.Host)
			if s.Params.Text("part") == "header" {
				begins += "X-Slow: "
			} else {
				if s.Client.Key != "" {
					begins += "Authorization: Bearer " + s.Client.Key + "\r\n"
				}
				begins += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
					"Content-Length: 1048576\r\n\r\n"
			}
			if _, err := io.WriteString(conn, begins); err != nil {
				return 0, err
			}
			for {
				select {
				case <-ctx.Done():
					return 1, nil
				case <-time.After(pause):
				}
				if _, err := io.WriteString(conn, "x"); err != nil {
					return 1, nil // the host has closed it
				}
			}
		}).injected(fmt.Sprintf("the listener, by %d clients of %s", clients, s.Tenant)), nil
	},
}
