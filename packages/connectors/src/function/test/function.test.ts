import { conforms } from '../../../test/conformance.ts'
import { addressedFunction } from './function-stand-in.ts'

conforms(addressedFunction)
