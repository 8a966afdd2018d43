/** Recognizes the answer of an S3 server to a request without the key of the customer that encrypts the object (SSE-C). */

/** The messages of AWS and MinIO, of Ceph and SeaweedFS, and of OpenStack Swift. */
const NEEDS_KEY = /stored using a form of server.side.encryption|server.side.encryption.(?:with.)?customer/i

/** Whether an error of an object needs a key of the customer. Its code does not tell: servers use it for other errors too. */
export function needsCustomerKey(status: number, message: string | undefined): boolean {
  return status === 400 && message !== undefined && NEEDS_KEY.test(message)
}
