/** Tests which errors of a catalog prove that a table does not exist. */
import { expect, test } from 'vitest'
import { defined } from '../../base/json.ts'
import { errorType, icebergAbsence } from './iceberg-absence.ts'

const named = { namespace: 'sales', table: 'orders' }
const error = (message: string, type?: string | null) => ({
  error: defined({ message, type, code: 404 }),
})

test.each([
  ...['NoSuchTableException', 'NoSuchTable', 'NoSuchNamespaceException', 'NoSuchTabularError', 'TableNotFound'].map(
    (type) => ({ body: error('gone', type), want: 'absent' }),
  ),
  { body: error('Object orders does not exist', 'ObjectNotExistsException'), want: 'absent' },
  { body: error('Catalog eu does not exist', 'ObjectNotExistsException'), want: 'other' },
  { body: error('Table orders not found in schema sales'), want: 'absent' },
  { body: error('Table orders not found in schema sales', null), want: 'absent' },
  { body: error('Table orders not found in schema sales', ''), want: 'absent' },
  { body: { message: 'Table orders not found in schema sales in database demo', status_code: 404 }, want: 'absent' },
  { body: error('Table does not exist: sales.orders'), want: 'absent' },
  { body: error('Schema not found: sales', 'BaseException'), want: 'absent' },
  { body: error('Not Found'), want: 'unclear' },
  { body: error('Catalog sales not found', 'BaseException'), want: 'unclear' },
  {
    body: { error: { code: 'NotFound', message: 'List call on metadata folder failed', target: null } },
    want: 'unclear',
  },
  { body: error('Table orders not found', 'NotFoundException'), want: 'other' },
  { body: error('Not an Iceberg table: sales.orders', 'NoSuchIcebergTableException'), want: 'other' },
  // The table exists: its files are missing, or it has another format.
  ...[undefined, 'BaseException', 'NoSuchTableException'].flatMap((type) =>
    [
      'Location does not exist: s3://lake/sales/orders/metadata/00001-a.metadata.json',
      'Table orders not found: the metadata file is missing',
      'Table sales.orders: metadata location does not exist',
      'Table is not an Iceberg table: sales.orders not found',
    ].map((message) => ({ body: error(message, type), want: 'other' })),
  ),
  // The catalog hides tables that the user may not see.
  ...[undefined, 'BaseException', 'NoSuchTableException'].map((type) => ({
    body: error("Table 'orders' does not exist or not authorized.", type),
    want: 'other',
  })),
  { body: error('Table does not exist at location: s3://lake/sales/orders', 'NoSuchTableException'), want: 'absent' },
  { body: error('Warehouse eu not found', 'NoSuchWarehouseException'), want: 'other' },
  { body: { detail: 'Not Found' }, want: 'other' },
  { body: { error: 'not_found', error_description: 'Table orders not found' }, want: 'other' },
  { body: undefined, want: 'other' },
  { body: 'Table orders not found', want: 'other' },
])('$body is $want', ({ body, want }) => {
  expect(icebergAbsence(body, named)).toBe(want)
})

test('a message of any length is read in bounded time', () => {
  expect(icebergAbsence(error(`${'table orders '.repeat(1e6)} not found`), named)).toBe('unclear')
})

test.each([
  { body: { error: { type: 'NoSuchTableException' } }, want: 'NoSuchTableException' },
  { body: { type: 'UnsupportedOperationException' }, want: 'UnsupportedOperationException' },
  { body: { error: 'invalid_client' }, want: 'invalid_client' },
  { body: { error: { type: 'NoSuchTableException of hunter2' } }, want: undefined },
  { body: 'NoSuchTableException', want: undefined },
])('the exception of $body is $want', ({ body, want }) => {
  expect(errorType(body)).toBe(want)
})
