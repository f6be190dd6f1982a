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

// defaultAdmin is the address of the admin listener of a host without configuration.
const defaultAdmin = "127.0.0.1:7421"

// adminAddr returns the address of the admin listener: from the flag, the environment or the
// default.
func adminAddr(flag string) (string, error) {
	addr := flag
	if addr == "" {
		addr = os.Getenv("MCPD_ADMIN")
	}
	if addr == "" {
		addr = defaultAdmin
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", fmt.Errorf("--admin %q is not host:port", addr)
	}
	return addr, nil
}

// adminToken reads a token from the file that the host at addr writes for its own user.
func adminToken(addr string, scope admin.Scope) (string, error) {
	dir, err := trustedRuntimeDir()
	if err != nil {
		return "", err
	}
	return admin.ReadToken(dir, addr, scope)
}

// adminGet sends a GET request to the admin listener. On loopback a GET needs no token. The token
// is sent only when the answer was 401, because addr may name another machine.
func adminGet(ctx context.Context, flag, path string) (io.ReadCloser, error) {
	addr, err := adminAddr(flag)
	if err != nil {
		return nil, err
	}
	resp, err := adminRequest(ctx, http.MethodGet, "http://"+addr+path, "")
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		if token, e := adminToken(addr, admin.Read); e == nil {
			resp.Body.Close()
			resp, err = adminRequest(ctx, http.MethodGet, "http://"+addr+path, token)
		}
	}
	return adminBody(addr, resp, err)
}

// adminPost sends a POST request, with a token of the write scope, to the admin listener and
// reads the answer.
func adminPost(ctx context.Context, flag, path string, answer proto.Message) error {
	addr, err := adminAddr(flag)
	if err != nil {
		return err
	}
	token, err := adminToken(addr, admin.Write)
	if err != nil {
		// Without a host there is no token file. The error of the request says more than this one.
		token = ""
	}
	resp, err := adminRequest(ctx, http.MethodPost, "http://"+addr+path, token)
	body, err := adminBody(addr, resp, err)
	if err != nil {
		return err
	}
	return readAnswer(body, path, answer)
}

// adminGetMessage reads the answer to a GET request for path into answer.
func adminGetMessage(ctx context.Context, flag, path string, answer proto.Message) error {
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

// refusalCode returns the exit code for a status with which the host refuses a request. The host
// explains such a refusal itself, in a Problem.
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

// adminBody returns the body of a response with status 200. Any other response is an error with
// the text of the host.
func adminBody(addr string, resp *http.Response, err error) (io.ReadCloser, error) {
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
	// Without a Problem in the body, something other than a host answers there.
	if code != exitPermission {
		code = exitUnavailable
	}
	return nil, &failure{
		code, fmt.Errorf("%s answers %s: %s", addr, resp.Status, strings.TrimSpace(string(text))),
	}
}

func adminRequest(ctx context.Context, method, url, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultClient.Do(req)
}
