package interop

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// pemFiles writes a certificate for 127.0.0.1 and its key.
func pemFiles(t *testing.T, a *mcptest.Authority, dir, name string,
	ends time.Duration) (cert, key string) {
	t.Helper()
	made := a.Certificate("127.0.0.1", ends).Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A reload may name other certificate files. New connections then get the new certificate, and open
// connections continue. If the files are unusable, the host refuses the reload with their names and
// the reason, and keeps the old certificate.
func TestReloadMovesTheCertificate(t *testing.T) {
	dir, authority := t.TempDir(), mcptest.NewAuthority(t)
	file := filepath.Join(dir, "mcpd.yaml")
	configure := func(cert, key, more string) {
		t.Helper()
		text := fmt.Sprintf(
			"listen: 127.0.0.1:0\ntls: {cert: %q, key: %q}\ntenants: {default: {servers: {demo: {builtin: "+
				"demo}%s}}}\n", cert, key, more,
		)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	oldCert, oldKey := pemFiles(t, authority, dir, "old", 20*time.Minute)
	newCert, newKey := pemFiles(t, authority, dir, "new", 30*time.Minute)
	lateCert, lateKey := pemFiles(t, authority, dir, "late", -time.Minute)
	configure(oldCert, oldKey, "")
	home := []string{"XDG_RUNTIME_DIR=" + dir}
	host := mcptest.Start(t, mcptest.HostOptions{Args: []string{"--config", file}, Env: home})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	address := strings.TrimPrefix(host.MCP, "http://")
	handshake := func() *tls.Conn {
		t.Helper()
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	shows := func(cert string) bool {
		t.Helper()
		text, err := os.ReadFile(cert)
		block, _ := pem.Decode(text)
		if err != nil || block == nil {
			t.Fatal(cert, err)
		}
		return string(handshake().ConnectionState().PeerCertificates[0].Raw) == string(block.Bytes)
	}
	reload := func() (said string, err error) {
		command := exec.Command(mcptest.Mcpd(t), "reload", "--admin",
			strings.TrimPrefix(host.Admin, "http://"))
		command.Env = append(os.Environ(), home...)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if !shows(oldCert) {
		t.Fatal("another certificate than the configured one is shown")
	}
	open := handshake()
	configure(newCert, newKey, "")
	if said, err := reload(); err != nil || !strings.Contains(said, "tls.cert: at once") {
		t.Errorf("reload: %v: %s", err, said)
	}
	if !shows(newCert) {
		t.Error("a reload that names other files does not show their certificate")
	}
	if _, err := fmt.Fprintf(open, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", address); err != nil {
		t.Error(err)
	}
	if n, err := open.Read(make([]byte, 12)); err != nil || n == 0 {
		t.Errorf("a connection that is open: %v", err)
	}
	for name, bad := range map[string]struct{ cert, key, reason string }{
		"a key of another":  {oldCert, newKey, "private key does not match"},
		"no such file":      {filepath.Join(dir, "none.pem"), newKey, "no such file"},
		"no longer good":    {lateCert, lateKey, "expired at"},
		"no certificate":    {newKey, newKey, "failed to find"},
		"a folder as a key": {oldCert, dir, "not a regular file"},
	} {
		configure(bad.cert, bad.key, ", more: {builtin: demo}")
		said, err := reload()
		if err == nil || !strings.Contains(said, bad.reason) || !strings.Contains(said, bad.cert) ||
			!strings.Contains(said, "nothing has changed") {
			t.Errorf("%s: reload: %v: %s", name, err, said)
		}
		if !shows(newCert) {
			t.Errorf("%s: another certificate is shown", name)
		}
	}
	// The host rereads the files that the last reload named.
	renewedCert, renewedKey := pemFiles(t, authority, dir, "new", 40*time.Minute)
	configure(renewedCert, renewedKey, "")
	if said, err := reload(); err != nil {
		t.Errorf("reload: %v: %s", err, said)
	}
	if !within(func() bool { return shows(renewedCert) }) {
		t.Error("the files that were named last are not read again")
	}
}
