package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

// listed is the number of tools of a long list, and perServer the number of one server's tools:
// mcpd accepts no more from one server.
const (
	listed    = 10_000
	perServer = 2000
)

var list = kit.Scenario{
	Name: "list", Title: "A list of 10,000 tools",
	Description: "tools/list, all pages of it, by four clients that each ask again at once: of one " +
		"server, " +
		"which has one page, and through mcpd, which makes " +
		"pages of the lists of five servers and gives each tool its server's name.",
	Measure: func(ctx context.Context, r *kit.Run) (err error) {
		var all processes
		defer func() { err = errors.Join(err, all.stop()) }()
		echo, err := all.beside(ctx, direct, subject.Echo,
			"legacy "+strconv.Itoa(listed-subject.EchoTools))
		if err != nil {
			return err
		}
		part, err := all.start(ctx, subject.Echo, "legacy "+strconv.Itoa(perServer-subject.EchoTools))
		if err != nil {
			return err
		}
		servers := map[string]string{}
		for i := range listed / perServer {
			servers[fmt.Sprintf("s%d", i)] = "{url: " + strconv.Quote(part.URL) + ", share: tenant}"
		}
		host, err := all.hostOf(ctx, servers)
		if err != nil {
			return err
		}
		t := trial{scenario: "list", title: "10,000 tools", sessions: 4, targets: []*target{
			{name: record.Mcpd, process: host, url: host.URL}, echo,
		}}
		for _, target := range t.targets {
			target.wrap = func(s *load.Session) load.Client { return &lister{session: s, url: target.url} }
		}
		f, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		return errors.Join(
			r.Compare("CPU per list of the server's own", f.of(record.Mcpd, cpuPerCall),
				f.of(direct, cpuPerCall), kit.Limits{}),
			r.Compare("p50 of the direct one's", f.of(record.Mcpd, p50), f.of(direct, p50), kit.Limits{}),
		)
	},
}

// lister requests all pages of the list instead of calling a tool. It serves one caller at a time.
type lister struct {
	session *load.Session
	url     string
	http    http.Client
}

// Call implements load.Client.
func (l *lister) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	count, params := 0, "{}"
	for {
		n, next, err := l.page(ctx, params)
		if err != nil {
			return "", err
		}
		if count += n; next == "" {
			break
		}
		params = `{"cursor":` + strconv.Quote(next) + `}`
	}
	if count != listed {
		return "", fmt.Errorf("%d tools, want %d", count, listed)
	}
	return nonce, nil
}

func (l *lister) page(ctx context.Context, params string) (n int, next string, err error) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + params + `}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header = l.session.Headers()
	resp, err := l.http.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		} `json:"result"`
	}
	err = json.UnmarshalRead(resp.Body, &answer)
	return len(answer.Result.Tools), answer.Result.Next, err
}
