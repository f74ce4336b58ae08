/** How long a session waits for the lock of a row. */

/** Whoever waits has a connection, and may keep others waiting: better to hear of it, and to try again. */
export const waitBriefly = 'set session innodb_lock_wait_timeout = 2'

/** For what is not begun again lightly. */
export const waitPatiently = 'set session innodb_lock_wait_timeout = 20'
