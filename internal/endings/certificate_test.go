package endings

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// certificateFiles is the certificate of a host and its key, stored in files.
type certificateFiles struct {
	t         *testing.T
	authority *mcptest.Authority
	cert, key string
	ends      time.Time // expiry of the certificate in the files
}

// firstLife is the validity of the first certificate. All clients have to connect before it
// expires.
const firstLife = 90 * time.Second

func newPair(t *testing.T) *certificateFiles {
	t.Helper()
	dir := t.TempDir()
	p := &certificateFiles{
		t: t, authority: mcptest.NewAuthority(t),
		cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"),
	}
	p.write(firstLife)
	return p
}

// write replaces the files by a new certificate with the given validity.
func (p *certificateFiles) write(life time.Duration) {
	p.t.Helper()
	made := p.authority.Certificate("127.0.0.1", life).Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		p.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		p.cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]},
		p.key:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		p.t.Fatal(err)
	}
	p.ends = leaf.NotAfter
}

// renewTime limits the time until the host notices that its files have changed.
const renewTime = 40 * time.Second

// renewed replaces the certificate files and returns when new connections get the new certificate.
// The full form also waits until the old certificate has expired.
func renewed(s *site) {
	old := s.files.ends
	s.files.write(time.Hour)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.files.authority.PEM())
	for deadline := time.Now().Add(renewTime); ; time.Sleep(100 * time.Millisecond) {
		c, err := tls.Dial("tcp", s.address(), &tls.Config{RootCAs: roots})
		if err != nil {
			s.t.Errorf("a new connection: %v", err)
			return
		}
		ends := c.ConnectionState().PeerCertificates[0].NotAfter
		_ = c.Close()
		if !ends.Equal(old) {
			break
		}
		if time.Now().After(deadline) {
			s.t.Errorf("the old certificate is still served %v after its files were replaced", renewTime)
			return
		}
	}
	if *full {
		time.Sleep(time.Until(old) + time.Second)
	}
}
