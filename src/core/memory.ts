/** Divides the memory of a container: how much of it the heap may have, so that everything together stays below the limit. */

const MEBIBYTE = 2 ** 20

/** V8's young generation is at most three times its semi-space, which `serve` is started with (docs/adr/0014). */
export const SEMI_SPACE_MIB = 16
const YOUNG_MIB = 3 * SEMI_SPACE_MIB
/** The program itself, its threads, 500 TLS connections of 57 KiB each, and buffers of answers that are freed late (docs/adr/0020). */
const NATIVE_MIB = 176
/** Of bodies and answers in flight, where nothing else is configured. */
const BYTES_IN_FLIGHT_MIB = 64
/** Below this the caches of a small cluster have no room. */
const LEAST_OLD_SPACE_MIB = 96

/** The size of the old generation in MiB for a container of so many bytes. A sixteenth of the container stays free. */
export function oldSpaceMib(containerBytes: number): number {
  const container = containerBytes / MEBIBYTE
  const rest = (container * 15) / 16 - YOUNG_MIB - NATIVE_MIB - BYTES_IN_FLIGHT_MIB
  return Math.max(LEAST_OLD_SPACE_MIB, Math.floor(rest))
}

export interface MemoryPlan {
  containerBytes: number
  /** What V8 says that it allows. */
  heapBytes: number
  bytesInFlight: number
}

/** Why the container may be killed for its memory; undefined when its parts fit. */
export function memoryWarning({ containerBytes, heapBytes, bytesInFlight }: MemoryPlan): string | undefined {
  const needed = Math.ceil((heapBytes + bytesInFlight) / MEBIBYTE) + NATIVE_MIB
  const container = Math.floor(containerBytes / MEBIBYTE)
  if (needed <= container) return undefined
  return `heap, bytes in flight and native memory together can need ${needed} MiB, more than the container's ${container} MiB; raise its memory limit`
}
