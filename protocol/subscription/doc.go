// Package subscription records which subscriber receives which notification. [Table] is an index
// from topics to subscribers. [Queue] is a bounded queue of notifications in front of it.
//
// A subscriber is any comparable value, for example a session, a function or a mailbox. The package
// does not deliver notifications, and does not read their content.
package subscription
