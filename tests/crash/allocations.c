/* Makes one allocation of a program fail, or that one and all after it: loaded into it before the C library. */

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static long count, at, lasting;
static const char *report;

__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("FAIL_AT");
	report = getenv("FAIL_REPORT");
	lasting = getenv("FAIL_ON") != NULL;
	/* Not in the processes that this one starts. */
	unsetenv("LD_PRELOAD");
	__atomic_store_n(&count, 0, __ATOMIC_SEQ_CST);
	at = number == NULL ? 0 : atol(number);
}

__attribute__((destructor)) static void end(void)
{
	char text[32];
	if (report == NULL)
		return;
	int length = snprintf(text, sizeof text, "%ld", count);
	int file = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file >= 0 && write(file, text, length) == length)
		close(file);
}

static int fails(void)
{
	long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
	if (at == 0 || number < at || (number > at && !lasting))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }

void *calloc(size_t number, size_t size) { return fails() ? NULL : __libc_calloc(number, size); }

void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }

void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size)
{
	if (fails())
		return ENOMEM;
	*place = __libc_memalign(alignment, size);
	return *place == NULL ? ENOMEM : 0;
}
