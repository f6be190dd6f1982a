// Package proxies runs a host behind each proxy of docs/proxies.md, configured as the page has it.
package proxies
