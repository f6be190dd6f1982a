package streamable

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/regular"
)

// MaxPEM is the maximum size of a certificate or key file, in bytes.
const MaxPEM = 1 << 20

// Certificate is the certificate of a listener with its key. Both are reloaded while the listener
// serves. Each handshake uses a certificate with its matching key.
type Certificate struct {
	at     atomic.Pointer[paths]
	served atomic.Pointer[tls.Certificate]

	mu      sync.Mutex // guards the rest; never held while a file is read
	read    digest     // of the files that are in use
	refused digest     // of the files that were refused last
	told    bool       // the refusal was reported
}

// paths are the files of a certificate and its key.
type paths struct{ cert, key string }

type digest [sha256.Size]byte

// LoadCertificate reads a certificate and its key.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	at := paths{certFile, keyFile}
	files, err := at.open()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(files.cert, files.key)
	if err != nil {
		return nil, at.wrap(err)
	}
	c := &Certificate{read: files.sum}
	c.at.Store(&at)
	c.served.Store(&pair)
	return c, nil
}

// File returns the path of the certificate file.
func (c *Certificate) File() string { return c.at.Load().cert }

// IsOf reports whether the certificate is read from these files.
func (c *Certificate) IsOf(certFile, keyFile string) bool {
	return *c.at.Load() == paths{certFile, keyFile}
}

// LoadReplacement reads a certificate from other files, for use with ReplaceWith. It returns an
// error for a certificate that is not valid at time now, unless the current one is not valid
// either.
func (c *Certificate) LoadReplacement(certFile, keyFile string,
	now time.Time) (*Certificate, error) {
	next, err := LoadCertificate(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	if err := worse(next.served.Load().Leaf, c.served.Load().Leaf, now); err != nil {
		return nil, next.wrap(err)
	}
	return next, nil
}

// ReplaceWith serves the certificate of next, and reads its files from then on.
func (c *Certificate) ReplaceWith(next *Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at.Store(next.at.Load())
	c.served.Store(next.served.Load())
	c.read, c.refused, c.told = next.read, digest{}, false
}

// get implements tls.Config.GetCertificate.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.served.Load(), nil
}

// Renew reloads the files and reports whether they hold another certificate, which is then served.
// Unusable files change nothing, and the error says why they are unusable. Unless atOnce is set,
// that error is returned once for each content, and only if the content is unchanged since the last
// call, because the two files are not written at the same moment.
func (c *Certificate) Renew(now time.Time, atOnce bool) (renewed bool, err error) {
	at := c.at.Load()
	files, err := at.open() // this may block on a slow file system
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.Load() != at {
		return false, nil
	}
	if err == nil && files.sum == c.read {
		c.refused, c.told = digest{}, false
		return false, nil
	}
	if err == nil {
		if err = c.replace(files, now); err == nil {
			c.read, c.refused, c.told = files.sum, digest{}, false
			return true, nil
		}
	}
	again := files.sum == c.refused
	if !again {
		c.refused, c.told = files.sum, false
	}
	if c.told && !atOnce || !again && !atOnce {
		return false, nil
	}
	c.told = true
	return false, err
}

// worse returns why a certificate must not replace one that clients still accept.
func worse(next, served *x509.Certificate, now time.Time) error {
	if bad := outOfDate(next, now); bad != nil && outOfDate(served, now) == nil {
		return bad
	}
	return nil
}

// files are the contents of both files. sum identifies the contents or, if they cannot be read, the
// errors.
type files struct {
	cert, key []byte
	sum       digest
}

func (p paths) open() (f files, err error) {
	if f.cert, err = regular.Read(p.cert, MaxPEM); err == nil {
		f.key, err = regular.Read(p.key, MaxPEM)
	}
	if err != nil {
		return files{sum: sha256.Sum256([]byte(err.Error()))}, p.wrap(err)
	}
	both := sha256.New()
	fmt.Fprintf(both, "%d ", len(f.cert))
	both.Write(f.cert)
	both.Write(f.key)
	f.sum = digest(both.Sum(nil))
	return f, nil
}

// replace serves another pair, unless that is worse than the current one.
func (c *Certificate) replace(f files, now time.Time) error {
	pair, err := tls.X509KeyPair(f.cert, f.key)
	if err == nil {
		err = worse(pair.Leaf, c.served.Load().Leaf, now)
	}
	if err != nil {
		return c.wrap(err)
	}
	c.served.Store(&pair)
	return nil
}

func (c *Certificate) wrap(err error) error { return c.at.Load().wrap(err) }

func (p paths) wrap(err error) error {
	return fmt.Errorf("tls certificate %q with key %q: %w", p.cert, p.key, err)
}

// Expires returns the earliest expiry of the certificates that are sent to clients.
func (c *Certificate) Expires() time.Time {
	chain, err := parse(c.served.Load())
	if err != nil {
		return time.Time{}
	}
	first := chain[0].NotAfter
	for _, cert := range chain[1:] {
		if !selfSigned(cert) && cert.NotAfter.Before(first) {
			first = cert.NotAfter
		}
	}
	return first
}

// Check returns the reason for which clients would reject the certificate at time now: a
// certificate of the chain is not valid at that time, or the issuer of the last certificate is
// neither in the file nor one of roots. If the chain is otherwise complete, the latter is an
// UnknownRootError. Nil roots stands for the system roots.
func (c *Certificate) Check(now time.Time, roots *x509.CertPool) error {
	chain, err := parse(c.served.Load())
	if err != nil {
		return c.wrap(err)
	}
	if roots == nil {
		roots, _ = x509.SystemCertPool() // on error there are none
	}
	if err := check(chain, now, roots); err != nil {
		return c.wrap(err)
	}
	return nil
}

// UnknownRootError says that a chain is complete up to a root that this machine does not trust.
// Clients may trust that root, as clients of a private CA do. Last is the subject of the last
// certificate, and Root its issuer.
type UnknownRootError struct{ Last, Root string }

func (e *UnknownRootError) Error() string {
	return fmt.Sprintf("the chain ends at %q, and its issuer %q is neither in the file nor trusted "+
		"by this machine: "+
		"clients have to trust %[2]q themselves, as they do with a private CA; if it is not a root, "+
		"append its certificate to the file",
		e.Last, e.Root)
}

func parse(pair *tls.Certificate) (chain []*x509.Certificate, err error) {
	for _, der := range pair.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, cert)
	}
	return chain, nil
}

func check(chain []*x509.Certificate, now time.Time, trusted *x509.CertPool) error {
	for _, cert := range chain {
		if err := outOfDate(cert, now); err != nil {
			return err
		}
	}
	o := x509.VerifyOptions{
		CurrentTime: now, Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(),
	}
	none := trusted == nil || trusted.Equal(o.Roots)
	if !none {
		o.Roots = trusted.Clone()
	}
	for i, cert := range chain {
		// A root that is included in the file is one that clients are expected to trust. On a machine
		// that trusts no roots, as in a small container, the last issuer of a longer chain cannot be
		// judged.
		if selfSigned(cert) || none && i > 0 && i == len(chain)-1 {
			o.Roots.AddCert(cert)
		} else if i > 0 {
			o.Intermediates.AddCert(cert)
		}
	}
	_, err := chain[0].Verify(o)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		last := lastOf(chain)
		o.Roots = x509.NewCertPool()
		o.Roots.AddCert(last)
		if _, broken := chain[0].Verify(o); last != chain[0] && broken == nil {
			return &UnknownRootError{last.Subject.String(), last.Issuer.String()}
		}
		return fmt.Errorf("the chain ends at %q, and its issuer %q is neither in the file nor trusted "+
			"by this machine: "+
			"append the certificates of its issuers to the file", last.Subject, last.Issuer)
	}
	return err
}

// lastOf returns the last certificate of the chain that begins with the first.
func lastOf(chain []*x509.Certificate) *x509.Certificate {
	last := chain[0]
	for range chain {
		for _, issuer := range chain {
			if issuer != last && last.CheckSignatureFrom(issuer) == nil {
				last = issuer
				break
			}
		}
	}
	return last
}

func selfSigned(cert *x509.Certificate) bool {
	return cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil
}

func outOfDate(cert *x509.Certificate, now time.Time) error {
	switch {
	case now.After(cert.NotAfter):
		return fmt.Errorf("%q expired at %s", cert.Subject, cert.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(cert.NotBefore):
		return fmt.Errorf("%q is not valid before %s", cert.Subject,
			cert.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// soonest is how long before expiry a certificate that is valid for months should have been
// renewed.
const soonest = 7 * 24 * time.Hour

// ExpiresSoon reports whether the certificate should already have been renewed: less than 7 days
// remain or, if that is shorter, less than a fifth of its validity. Clients that renew certificates
// automatically do so well before that time.
func (c *Certificate) ExpiresSoon(now time.Time) bool {
	leaf := c.served.Load().Leaf
	return c.Expires().Sub(now) < min(soonest, leaf.NotAfter.Sub(leaf.NotBefore)/5)
}
