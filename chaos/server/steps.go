package server

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxSteps bounds the number of progress notifications of one call.
const maxSteps = 1000

// steps sends progress notifications, if the caller has asked for them, and returns its input.
func steps(ctx context.Context, s *server, args jsontext.Value) (string, error) {
	var a struct {
		Message string `json:"message"`
		Steps   int    `json:"steps"`
		MS      int64  `json:"ms"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return "", err
	}
	if a.Steps < 0 || a.Steps > maxSteps || a.MS < 0 || a.MS > maxSleep.Milliseconds() {
		return "", fmt.Errorf("%d steps of %d ms: up to %d of up to %d it can be", a.Steps, a.MS,
			maxSteps, maxSleep.Milliseconds())
	}
	token, asked := ctx.Value(tokenKey{}).(jsontext.Value)
	for i := range a.Steps {
		if asked {
			s.write(
				fmt.Appendf(
					nil,
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d}}`+"\n", token, i+1, a.Steps,
				),
			)
		}
		pause(ctx, time.Duration(a.MS)*time.Millisecond)
	}
	return a.Message, nil
}

// tokenKey is the key of a call's progress token in its context.
type tokenKey struct{}
