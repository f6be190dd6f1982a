package mcptest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// fakeHost is the variable that makes the test binary act as a host: it prints and serves what a
// host would, and ends in the way that the value selects.
const fakeHost = "MCPTEST_FAKE_HOST"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeHost); how != "" {
		pretend(how)
	}
	Main(m)
}

// pretend is a host that is ready at the second request and ends with 0, with 3, or by itself.
func pretend(how string) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	asked := 0
	for _, name := range []string{"admin", "mcp"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			os.Exit(2)
		}
		fmt.Fprintf(
			os.Stderr, `{"level":"info","msg":"listening","event":"listener_up","name":%q,"addr":%q}`+"\n",
			name, l.Addr(),
		)
		go func() {
			_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
		}()
	}
	fmt.Fprintf(os.Stderr, "arguments %q config %q\n", os.Args[1:], os.Getenv("MCPD_CONFIG"))
	<-terminated
	fmt.Fprintln(os.Stderr, "stopping")
	if how == "fails" {
		os.Exit(3)
	}
	os.Exit(0)
}
