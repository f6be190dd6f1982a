package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mcpd/chaos/faults"
	"mcpd/telemetry/admin"
)

// maxAnswer bounds a response of the admin listener. A tree of a hundred thousand rows fits.
const maxAnswer = 64 << 20

// operator is a client of the admin listener. It leaves no idle connections, which would be counted
// as holdings.
type operator struct {
	base  string
	token func(admin.Scope) (string, error)
	http  http.Client
	name  string // of the run, with which its faults are marked
	meant bool
	feed  *feed

	mu     sync.Mutex               // guards the fields below
	leases map[string]time.Duration // leases of armed faults
	// asked says that something was, or may have been, armed since the last disarmAll.
	asked bool
}

var _ faults.Operator = (*operator)(nil)

func newOperator(o Options, name string) *operator {
	p := &operator{
		base: o.Admin, token: o.Token, name: name, meant: o.AllowProduction,
		leases: map[string]time.Duration{},
	}
	// compressing responses would cost the host a megabyte
	p.http.Transport = &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	p.feed = &feed{operator: p, ended: map[string]ending{}}
	return p
}

// refusal is a response with a status other than 2xx.
type refusal struct {
	status int
	Error_ string `json:"error"`
	Hint   string `json:"hint"`
}

func (r *refusal) Error() string {
	switch {
	case r.Error_ == "":
		return fmt.Sprintf("http status %d", r.status)
	case r.Hint == "":
		return r.Error_
	}
	return r.Error_ + ": " + r.Hint
}

// ask makes one request with the token of a scope and returns the body of the response. If there is
// no token, it still tries to read, because reading needs none on loopback.
func (p *operator) ask(ctx context.Context, method, path string, scope admin.Scope,
	body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := p.send(ctx, method, path, scope, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", p.base, path, err)
	}
	if resp.StatusCode/100 != 2 {
		r := &refusal{status: resp.StatusCode}
		_ = json.Unmarshal(data, r) // without a JSON body the status is the error
		return data, r
	}
	return data, nil
}

func (p *operator) send(ctx context.Context, method, path string, scope admin.Scope,
	body any) (*http.Response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	token, err := p.token(scope)
	switch {
	case err == nil:
		req.Header.Set("Authorization", "Bearer "+token)
	case scope != admin.Read && scope != admin.Open:
		return nil, fmt.Errorf("token of scope %s: %w", scope, err)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return resp, nil
}

// status requests a probe of the host and returns its HTTP status.
func (p *operator) status(ctx context.Context, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := p.send(ctx, http.MethodGet, path, admin.Open, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, err
}

// Tree implements faults.Operator.
func (p *operator) Tree(ctx context.Context) (faults.Tree, error) {
	data, err := p.ask(ctx, http.MethodGet, "/admin/v1/tree?all=1", admin.Read, nil)
	if err != nil {
		return nil, err
	}
	return faults.ParseTree(data)
}

// Open implements faults.Operator.
func (p *operator) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := p.send(ctx, http.MethodGet, path, admin.Read, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(&refusal{status: resp.StatusCode}, resp.Body.Close())
	}
	return resp.Body, nil
}

// Reload implements faults.Operator.
func (p *operator) Reload(ctx context.Context) error {
	_, err := p.ask(ctx, http.MethodPost, "/admin/v1/reload", admin.Write, nil)
	return err
}

// about is the host's information about itself: mcpd.v1.Configuration.
type about struct {
	Environment string `json:"environment"`
	Listen      string `json:"listen"`
	PID         int    `json:"pid"`
	ResidentMax uint64 `json:"resident_max,string"` // bytes; 0 is no bound
}

func (p *operator) about(ctx context.Context) (a about, err error) {
	data, err := p.ask(ctx, http.MethodGet, "/admin/v1/config", admin.Read, nil)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// scrape reads the host's metrics.
func (p *operator) scrape(ctx context.Context) (scrape, error) {
	data, err := p.ask(ctx, http.MethodGet, "/metrics", admin.Read, nil)
	return scrape(data), err
}

// Status returns the HTTP status with which the host has refused a request, or 0 for any other
// error.
func Status(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	return 0
}
