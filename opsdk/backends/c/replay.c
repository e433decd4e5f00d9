/* Calls of a kernel, read from a file and made again in a program of its own, which sanitizers watch.
 *
 * Each tensor, list and text lies in a block of memory of just its size. The program says what it is about to do, so
 * that whoever reads its words knows what they are about. What is below is written for each kernel behind this text.
 */
#include <stdio.h>
#include <stdlib.h>

static FILE *opsdk_calls;

static void opsdk_read(void *to, size_t size) {
  if (size && fread(to, size, 1, opsdk_calls) != 1) exit(99);
}

static int64_t opsdk_number(void) {
  int64_t number;
  opsdk_read(&number, sizeof number);
  return number;
}

/* A block of bytes; NULL where there is none. */
static void *opsdk_block(void) {
  const int64_t size = opsdk_number();
  if (size < 0) return NULL;
  void *block = malloc((size_t)size);
  opsdk_read(block, (size_t)size);
  return block;
}

static DLTensor *opsdk_tensor(const char *name, int64_t number) {
  int64_t head[6]; /* dimensions, the parts of a dtype, the offset, where the first element lies in the block */
  if (opsdk_number() < 0) return NULL;
  DLTensor *tensor = calloc(1, sizeof *tensor);
  opsdk_read(head, sizeof head);
  tensor->device.device_type = kDLCPU;
  tensor->ndim = (int32_t)head[0];
  tensor->dtype.code = (uint8_t)head[1];
  tensor->dtype.bits = (uint8_t)head[2];
  tensor->dtype.lanes = (uint16_t)head[3];
  tensor->byte_offset = (uint64_t)head[4];
  tensor->shape = opsdk_block();
  tensor->strides = opsdk_block();
  char *block = opsdk_block();
  if (block) {
    tensor->data = block + head[5];
    fprintf(stderr, "opsdk: %s %lld at %p of %d bits\n", name, (long long)number, (void *)block, tensor->dtype.bits);
  }
  return tensor;
}

static DLTensor **opsdk_tensors(const char *name) {
  const int64_t length = opsdk_number();
  if (length < 0) return NULL;
  DLTensor **tensors = malloc((size_t)length * sizeof *tensors);
  for (int64_t i = 0; i < length; ++i) tensors[i] = opsdk_tensor(name, i);
  return tensors;
}

static const char **opsdk_texts(void) {
  const int64_t length = opsdk_number();
  if (length < 0) return NULL;
  const char **texts = malloc((size_t)length * sizeof *texts);
  for (int64_t i = 0; i < length; ++i) texts[i] = opsdk_block();
  return texts;
}

static void opsdk_call(int64_t function); /* written for each kernel */

int main(int count, char **words) {
  opsdk_calls = count == 2 ? fopen(words[1], "rb") : NULL;
  if (!opsdk_calls) return 99;
  const int64_t calls = opsdk_number();
  for (int64_t i = 0; i < calls; ++i) {
    fprintf(stderr, "opsdk: call %lld\n", (long long)i);
    opsdk_call(opsdk_number());
  }
  fprintf(stderr, "opsdk: end\n");
  return 0;
}
