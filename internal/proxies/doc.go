// Package proxies tests a host behind each proxy of docs/proxies.md. The proxies use the
// configuration that the page shows.
package proxies
