package streamable

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The causes of an Obstacle.
const (
	CauseCertificate = "certificate"
	CauseTLS         = "tls"
	CauseName        = "unknown name"
	CauseRedirect    = "redirect"
	CauseProxy       = "proxy"
)

// Obstacle is a problem with a server that waiting does not solve: an operator has to change
// something first.
type Obstacle struct {
	Cause string // one of the causes above
	Do    string // what to do
}

// ObstacleOf returns the obstacle that an error indicates, if any.
func ObstacleOf(err error) (Obstacle, bool) {
	for _, of := range []func(error) (Obstacle, bool){redirectOf, proxyOf, nameOf,
		certificateOf, tlsOf} {
		if o, ok := of(err); ok {
			return o, true
		}
	}
	return Obstacle{}, false
}

// redirectOf detects a redirect that was not followed.
func redirectOf(err error) (Obstacle, bool) {
	status, ok := errors.AsType[*StatusError](err)
	if !ok || !isRedirect(status.Status) {
		return Obstacle{}, false
	}
	if status.Moved == "" {
		return Obstacle{CauseRedirect, "the server redirects to no address: correct the url"}, true
	}
	return Obstacle{CauseRedirect,
		"the server wants to be asked elsewhere: write " + strconv.Quote(status.Moved) +
			" as its url if that is right"}, true
}

// isRedirect reports whether a status is that of a redirect.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// proxyOf detects a refusal by a proxy that a retry would not change.
func proxyOf(err error) (Obstacle, bool) {
	const credentials = "the proxy wants credentials: write them in `proxy`, as " +
		"http://USER:PASSWORD@HOST:PORT"
	if status, ok := errors.AsType[*StatusError](err); ok &&
		status.Status == http.StatusProxyAuthRequired {
		return Obstacle{CauseProxy, credentials}, true
	}
	if errors.Is(err, ErrProxyVariable) {
		return Obstacle{CauseProxy, "correct the variable, or write `proxy` for this server"}, true
	}
	refused, ok := errors.AsType[*ProxyError](err)
	switch {
	case !ok || refused.Status >= http.StatusInternalServerError ||
		refused.Status == http.StatusTooManyRequests:
		return Obstacle{}, false
	case refused.Status == http.StatusProxyAuthRequired:
		return Obstacle{CauseProxy, credentials}, true
	}
	return Obstacle{CauseProxy,
			"the proxy does not connect to this server: have it allowed there, or write `proxy: direct`"},
		true
}

// nameOf detects a host name that does not exist or has no address.
func nameOf(err error) (Obstacle, bool) {
	do := ""
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		do = "no host is called " + strconv.Quote(missing.Name)
	} else if none, ok := errors.AsType[*net.AddrError](err); ok && none.Err == noAddress {
		do = strconv.Quote(none.Addr) + " has no address"
	} else {
		return Obstacle{}, false
	}
	where := "url"
	if through, ok := errors.AsType[*net.OpError](err); ok && through.Op == "proxyconnect" {
		where = "proxy"
	}
	return Obstacle{CauseName,
		fmt.Sprintf("%s: correct the %s, or have the name made known", do, where)}, true
}

// noAddress is the error text of package net for a name that exists but has no address of a kind
// that can be dialled.
const noAddress = "no suitable address found"

// certificateOf detects a problem with a certificate.
func certificateOf(err error) (Obstacle, bool) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return Obstacle{CauseCertificate,
			"no authority known here has signed the certificate: name the file with the certificate of " +
				"the right one in `ca`"}, true
	}
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return Obstacle{CauseCertificate,
			fmt.Sprintf("the certificate is for %s: correct the url, or have a certificate made for %s",
				hostsOf(wrong.Certificate), strconv.Quote(wrong.Host))}, true
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok &&
		invalid.Reason == x509.Expired {
		return Obstacle{CauseCertificate,
			"the certificate is not valid now: have it renewed, or correct the clock of this machine"}, true
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return Obstacle{CauseCertificate,
			"this machine has no certificates of authorities: install them (ca-certificates), or name the " +
				"file of one in `ca`"}, true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Obstacle{CauseCertificate,
			"the certificate is not acceptable: have another one made"}, true
	}
	if bad, ok := errors.AsType[*CAError](err); ok {
		return Obstacle{CauseCertificate, "correct `ca`, or the file " + strconv.Quote(bad.File)}, true
	}
	return Obstacle{}, false
}

// shownHosts is the maximum number of hosts of a certificate in an error text.
const shownHosts = 3

// hostsOf returns the hosts that a certificate is for, quoted and shortened.
func hostsOf(c *x509.Certificate) string {
	if c == nil {
		return "no host"
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host"
	}
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	return strings.Join(names[:min(len(names), shownHosts)], ", ")
}

// tlsOf detects a server with which no TLS connection can be made. TLS alerts have no error type of
// their own.
func tlsOf(err error) (Obstacle, bool) {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	if plain || errors.Is(err, http.ErrSchemeMismatch) {
		return Obstacle{CauseTLS,
			"the server does not speak TLS there: correct the port of the url, or write http"}, true
	}
	alert, ok := errors.AsType[*net.OpError](err)
	if !ok || alert.Op != "remote error" || strings.Contains(alert.Err.Error(), "internal error") {
		return Obstacle{}, false
	}
	return Obstacle{CauseTLS, "the server refuses the TLS connection: its log says why"}, true
}

// CAError says that the certificates of `ca` cannot be loaded.
type CAError struct {
	File string
	Err  error
}

// Error names the file and the problem with it.
func (e *CAError) Error() string { return "ca " + strconv.Quote(e.File) + ": " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *CAError) Unwrap() error { return e.Err }
