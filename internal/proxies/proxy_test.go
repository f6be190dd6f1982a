package proxies

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const name = "mcp.example.com"

// files holds the paths of the certificate and key files that a proxy uses.
type files struct {
	dir, cert, key, both string
	trust                *x509.CertPool
}

func newFiles(t *testing.T) files {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := files{
		dir, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"),
		filepath.Join(dir, "both.pem"), x509.NewCertPool(),
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	f.trust.AppendCertsFromPEM(cert)
	f.write(t, "cert.pem", string(cert))
	f.write(t, "key.pem", string(key))
	f.write(t, "both.pem", string(cert)+string(key))
	return f
}

func (f files) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// freePort returns a port of the loopback address that was unused a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// program returns the path of the first of the named programs that is installed. It skips the test
// if none is.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		// Debian installs servers in /usr/sbin, which PATH may lack.
		for _, at := range []string{name, "/usr/sbin/" + name} {
			if path, err := exec.LookPath(at); err == nil {
				return path
			}
		}
	}
	t.Skipf("there is no %s on this machine", strings.Join(names, " or "))
	return ""
}

// run starts a proxy and waits until it listens. The cleanup of the test stops the proxy.
func run(t *testing.T, at string, f files, args ...string) {
	t.Helper()
	var said bytes.Buffer
	command := exec.Command(args[0], args[1:]...)
	command.Dir, command.Stdout, command.Stderr = f.dir, &said, &said
	command.Env = append(os.Environ(), "HOME="+f.dir, "XDG_DATA_HOME="+f.dir, "XDG_CONFIG_HOME="+f.dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // owner: the cleanup below, which waits for this goroutine
		defer close(ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // also ends the proxy's child processes
		<-ended
		if t.Failed() {
			t.Logf("%s said:\n%s", args[0], said.String())
		}
	})
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", args[0], said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %s: %v", args[0], at, err)
		}
	}
}
