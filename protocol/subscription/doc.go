// Package subscription knows who wants which notification: an index from topics to subscribers, and the bounded queue in front of it.
//
// It does not know what a subscriber is (a session, a function, a mailbox: any comparable value), it delivers nothing, and it does not
// look into notifications.
package subscription
