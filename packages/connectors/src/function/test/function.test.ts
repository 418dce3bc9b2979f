import { conforms } from '../../../test/conformance.ts'
import { addressedFunction } from './function.scene.ts'

conforms(addressedFunction)
