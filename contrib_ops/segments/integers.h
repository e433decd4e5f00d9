/* Integers of any dtype; an op's check has said that they fit an int64. */

/* Element i of any integers. */
static int64_t integer(const DLTensor *x, int64_t i) {
  const int is_signed = x->dtype.code == kDLInt;
  switch (x->dtype.bits) {
    case 8: return is_signed ? OPSDK_DATA(const int8_t, x)[i] : OPSDK_DATA(const uint8_t, x)[i];
    case 16: return is_signed ? OPSDK_DATA(const int16_t, x)[i] : OPSDK_DATA(const uint16_t, x)[i];
    case 32: return is_signed ? OPSDK_DATA(const int32_t, x)[i] : (int64_t)OPSDK_DATA(const uint32_t, x)[i];
    default: return OPSDK_DATA(const int64_t, x)[i];
  }
}
