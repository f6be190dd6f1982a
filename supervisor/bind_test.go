package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/gateway/config"
	"mcpd/telemetry"
)

func TestNetworkOfAnAddress(t *testing.T) {
	for _, c := range []struct {
		address, beside, want string
	}{
		{"127.0.0.1:1", "", "tcp4"},
		{"0.0.0.0:1", "", "tcp4"},
		{"[::]:1", "", "tcp"},
		{"[::]:1", "0.0.0.0:2", "tcp"},
		{"[::]:1", "0.0.0.0:1", "tcp6"},
		{"[::]:0", "0.0.0.0:0", "tcp"},
		{":1", "", "tcp"},
		{"localhost:1", "", "tcp"},
	} {
		if got := network(c.address, []string{c.beside, c.address}); got != c.want {
			t.Errorf("%s beside %q: got %s, want %s", c.address, c.beside, got, c.want)
		}
	}
}

// bindTest binds the addresses of a `listen` setting.
func bindTest(t *testing.T, u config.Unix, addresses ...string) ([]net.Listener, error) {
	t.Helper()
	if u.Mode == "" {
		u.Mode = "0660"
	}
	bound, err := (&host{}).bind(&config.Config{Listen: addresses, Unix: u})
	t.Cleanup(func() {
		for _, l := range bound {
			l.Close()
		}
	})
	return bound, err
}

// A listener on all IPv4 addresses does not listen on IPv6.
func TestListenersOfIPv4AreOfIPv4Only(t *testing.T) {
	bound, err := bindTest(t, config.Unix{}, "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	port := bound[0].Addr().(*net.TCPAddr).Port
	if c, err := net.DialTimeout("tcp6", fmt.Sprintf("[::1]:%d", port), time.Second); err == nil {
		c.Close()
		t.Error("0.0.0.0 listens on [::1]")
	}
	c, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// When one of several addresses cannot be bound, none stays bound.
func TestListenersAreBoundTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if _, err := bindTest(t, config.Unix{}, "unix:"+path, "192.0.2.1:1"); err == nil ||
		!strings.Contains(err.Error(), "listen 192.0.2.1:1: ") {
		t.Fatalf("got %v", err)
	}
	if _, err := net.Dial("unix", path); err == nil {
		t.Error("the socket is still bound")
	}
}

func TestUnixSocketsHaveTheirModeAndOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	uid, gid := os.Getuid(), os.Getgid()
	owner := fmt.Sprintf("%d:%d", uid, gid)
	if uid == 0 {
		uid, gid, owner = 12345, 12346, "12345:12346"
	}
	defer syscall.Umask(syscall.Umask(0o077))
	if _, err := bindTest(t, config.Unix{Mode: "0606", Owner: owner}, "unix:"+path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	if info.Mode().Perm() != 0o606 || int(s.Uid) != uid || int(s.Gid) != gid {
		t.Errorf("got %v of %d:%d, want -rw----rw- of %d:%d", info.Mode(), s.Uid, s.Gid, uid, gid)
	}
}

func TestUnknownOwnersAreSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	_, err := bindTest(t, config.Unix{Owner: "nobody-has-this-name"}, "unix:"+path)
	if err == nil || !strings.Contains(err.Error(), "unix.owner: ") ||
		!strings.Contains(err.Error(), "nobody-has-this-name") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was left: %v", err)
	}
}

// When one of several sockets cannot be bound, the given sockets are kept for the next attempt. No
// other process can bind them meanwhile.
func TestGivenSocketIsTakenAgainAfterAFailure(t *testing.T) {
	l, f := open(t, false)
	address := l.Addr().String()
	_ = l.Close()
	h := &host{}
	h.handover.given = Sockets{Files: []*os.File{f}}
	const nobodys = "192.0.2.1:1"
	for range 2 {
		bound, err := h.bind(&config.Config{Listen: []string{address, nobodys}})
		if err == nil || !strings.Contains(err.Error(), "listen "+nobodys+": ") {
			t.Fatalf("got %v, %v", bound, err)
		}
	}
	bound, err := h.bind(&config.Config{Listen: []string{address, "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range bound {
		_ = l.Close()
	}
}

// A socket that a killed process has left is replaced. Nothing else is.
func TestOnlyStaleSocketsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	bound, err := bindTest(t, config.Unix{}, "unix:"+path)
	if err != nil {
		t.Fatalf("beside a stale socket: %v", err)
	}
	if _, err := bindTest(t, config.Unix{}, "unix:"+path); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("beside one in use: got %v", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the one in use: %v", err)
	}
	c.Close()
	if bound[0].Close(); exists(path) {
		t.Error("a socket that was closed is still there")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bindTest(t, config.Unix{}, "unix:"+file); err == nil ||
		!strings.Contains(err.Error(), "that is not a socket") {
		t.Errorf("where a file is: got %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "precious" {
		t.Error("the file was removed")
	}
}

// The directory of a socket is locked while the socket is made. The host waits for a lock of
// another process, but not forever: any process that can read the directory can hold it.
func TestLockOfASocketsDirectoryIsWaitedFor(t *testing.T) {
	for name, held := range map[string]time.Duration{"for a while": lockTries * lockPause / 2,
		"for ever": 0} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			other, err := os.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			fd := int(other.Fd())
			if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if held > 0 {
				time.AfterFunc(held, func() { _ = syscall.Flock(fd, syscall.LOCK_UN) })
			}
			ours, err := os.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			began := time.Now()
			err = lock(ours)
			took := time.Since(began)
			if held > 0 && (err != nil || took < held) ||
				held == 0 && (!errors.Is(err, syscall.EWOULDBLOCK) || took != lockTries*lockPause) {
				t.Errorf("held %s: got %v after %v", name, err, took)
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// serving returns a listener that serves several sockets.
func serving(t *testing.T, addresses ...string) (l *listener, stop func() error) {
	t.Helper()
	sockets, err := bindTest(t, config.Unix{}, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	var told []telemetry.Event
	l = listenerOn(sockets, func() time.Duration { return time.Hour }, &told)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	return l, func() error { cancel(); return <-ended }
}

func get(t *testing.T, a net.Addr) error {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, a.Network(), a.String())
		},
	}}
	response, err := client.Get("http://localhost/")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func TestSeveralSocketsServe(t *testing.T) {
	l, stop := serving(t, "127.0.0.1:0", "127.0.0.1:0", "unix:"+filepath.Join(t.TempDir(), "s"))
	for _, s := range l.sockets {
		if err := get(t, s.Addr()); err != nil {
			t.Errorf("%s: %v", s.Addr(), err)
		}
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: got %v", err)
	}
	for _, s := range l.sockets {
		if get(t, s.Addr()) == nil {
			t.Errorf("%s still serves", s.Addr())
		}
	}
}

// broken returns an error from Accept.
type broken struct{ net.Listener }

var errBroken = errors.New("broken")

func (broken) Accept() (net.Conn, error) { return nil, errBroken }

// torn panics in Accept.
type torn struct{ net.Listener }

func (torn) Accept() (net.Conn, error) { panic("torn") }

// A socket that fails ends the other sockets, with the reason. The supervisor starts all of them
// again.
func TestASocketThatFailsEndsTheListener(t *testing.T) {
	for i := range 3 {
		for name, fails := range map[string]func(net.Listener) net.Listener{
			"broken": func(l net.Listener) net.Listener { return broken{l} },
			"torn":   func(l net.Listener) net.Listener { return torn{l} },
		} {
			if name == "torn" && i == 0 {
				continue // this panic is the row's own
			}
			sockets, err := bindTest(t, config.Unix{}, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var told []telemetry.Event
			l := listenerOn(sockets, func() time.Duration { return time.Hour }, &told)
			l.sockets[i] = fails(l.sockets[i])
			if err := l.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s at %d: got %v", name, i, err)
			}
			for _, s := range l.sockets {
				if get(t, s.Addr()) == nil {
					t.Errorf("%s at %d: %s still serves", name, i, s.Addr())
				}
			}
		}
	}
}
