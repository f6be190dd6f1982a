package streamable

import (
	"net/http"
	"net/url"
)

// MaxRedirects is the maximum number of redirects of one request that are followed.
const MaxRedirects = 3

// resolve makes the address of a redirect absolute. It is relative to that of the request (RFC 9110
// §10.2.2). An invalid address stays unchanged.
func resolve(resp *http.Response, from *url.URL) {
	at := resp.Header.Get("Location")
	if at == "" {
		return
	}
	if to, err := from.Parse(at); err == nil {
		resp.Header.Set("Location", to.String())
	}
}

// redirect returns the address to which a response redirects its request unchanged, or nil.
// Redirects are followed within one origin only, because requests contain our credentials. Servers
// use such redirects for the slash at the end of a path.
func (c *Client) redirect(resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect &&
		resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || to.User != nil || origin(to) != origin(c.url) {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}
