/* Data that is made when it is read: a file without a name, which grows. */
#ifndef SANDBOX_SUPPLY_H
#define SANDBOX_SUPPLY_H

struct supply;

/* Opens an empty file without a name twice: to append, which is returned, and to read. */
int open_scratch(int *reader);

/* `produce` appends to the descriptor that it receives, and returns 0 if there is nothing more. */
struct supply *open_supply(int (*produce)(int, void *), void *data, int *reader);
void close_supply(struct supply *supply);

#endif
