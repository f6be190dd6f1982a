package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry/admin"
)

// defaultAdmin is where a host without configuration has its admin listener.
const defaultAdmin = "127.0.0.1:7421"

// adminAddr is the admin listener that a flag names, or the environment.
func adminAddr(flag string) (string, error) {
	addr := flag
	if addr == "" {
		addr = os.Getenv("MCPD_ADMIN")
	}
	if addr == "" {
		addr = defaultAdmin
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", fmt.Errorf("--admin %q is no host:port", addr)
	}
	return addr, nil
}

// adminToken is a token from the file that the host at addr has written for its own user.
func adminToken(addr string, scope admin.Scope) (string, error) {
	dir, err := trustedRuntimeDir()
	if err != nil {
		return "", err
	}
	return admin.ReadToken(dir, addr, scope)
}

// adminGet asks the admin listener. Reading is open on loopback; a token is sent only where one is asked for, because the machine may be
// another.
func adminGet(ctx context.Context, flag, path string) (io.ReadCloser, error) {
	addr, err := adminAddr(flag)
	if err != nil {
		return nil, err
	}
	resp, err := adminAsk(ctx, http.MethodGet, "http://"+addr+path, "")
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		if token, e := adminToken(addr, admin.Read); e == nil {
			resp.Body.Close()
			resp, err = adminAsk(ctx, http.MethodGet, "http://"+addr+path, token)
		}
	}
	return adminAnswer(addr, resp, err)
}

// adminPost has the host do something, for which it asks for a token, and reads its answer.
func adminPost(ctx context.Context, flag, path string, answer proto.Message) error {
	addr, err := adminAddr(flag)
	if err != nil {
		return err
	}
	token, err := adminToken(addr, admin.Write)
	if err != nil {
		token = "" // there may be no host, which says more
	}
	resp, err := adminAsk(ctx, http.MethodPost, "http://"+addr+path, token)
	body, err := adminAnswer(addr, resp, err)
	if err != nil {
		return err
	}
	return readAnswer(body, path, answer)
}

// adminRead reads what the host shows at a path.
func adminRead(ctx context.Context, flag, path string, answer proto.Message) error {
	body, err := adminGet(ctx, flag, path)
	if err != nil {
		return err
	}
	return readAnswer(body, path, answer)
}

func readAnswer(body io.ReadCloser, path string, answer proto.Message) error {
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err == nil {
		err = (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, answer)
	}
	if err != nil {
		return &failure{exitUnavailable, fmt.Errorf("the answer at %s cannot be read: %w", path, err)}
	}
	return nil
}

// refusalCode is the exit code of what the host says is wrong, in words of its own.
func refusalCode(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitPermission
	case http.StatusUnprocessableEntity:
		return exitConfig
	case http.StatusServiceUnavailable:
		return exitUnavailable
	}
	return exitFailure
}

// adminAnswer is the body of a good answer. Any other is an error that says what the host said.
func adminAnswer(addr string, resp *http.Response, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, &failure{exitUnavailable, fmt.Errorf("no host answers at %s: %w", addr, err)}
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	var p mcpdv1.Problem
	code := refusalCode(resp.StatusCode)
	if protojson.Unmarshal(text, &p) == nil && p.GetError() != "" {
		return nil, &failure{code, errors.New(p.GetError() + "\n" + p.GetHint())}
	}
	if code != exitPermission { // something else answers there
		code = exitUnavailable
	}
	return nil, &failure{code, fmt.Errorf("%s answers %s: %s", addr, resp.Status, strings.TrimSpace(string(text)))}
}

func adminAsk(ctx context.Context, method, url, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultClient.Do(req)
}
